package engine

import (
	"fmt"
	"math"

	"github.com/ethtune/ethtune/engine/metric"
)

const (
	// doubtSpan is how many seconds are compared at once: a report of the far end covers another tenth of a second than the
	// interface's counters do, and a buffer that empties is no rate.
	doubtSpan = 1.0
	// linkSlack is how many times the link's speed may have arrived: a receiver that was not run in time finds more than
	// came in the time since.
	linkSlack = 1.02
	// countSlack is how many times what the interface counted may have arrived.
	countSlack = 1.10
	// apart is by how much of a span the time that the far end's reports cover may differ from it. Where a report comes late
	// they are of another time than the interface's counters, and a rate that was changed meanwhile looks like a doubt.
	apart = 0.2
	// otherWay is how many times what the interface counted is so much less than what arrived that the traffic does not
	// pass the interface, so that its counters say nothing of it.
	otherWay = 10
)

// doubt compares what arrived with what the near interface counted and with the speed of its link. What arrived can only
// be less than both: there are headers, and there is other traffic. So only the one way round is suspect, and only where it
// lasts for two spans: that is no load that began or ended between two readings.
type doubt struct {
	link    metric.Num // bit/s, as last read
	out, in doubts
}

// doubts is of one direction.
type doubts struct {
	seconds   float64    // of the span so far
	payload   float64    // bits that arrived
	covered   float64    // seconds in which it is known what arrived
	counted   metric.Num // bits that the interface counted; absent where it could not be read once
	dubious   bool       // the last span was suspect
	suspicion string     // what the Frames say
}

// judge takes in the Frames of one tick, and h, which is of the same, and marks those that are suspect.
func (d *doubt) judge(frames []*metric.Frame, h *metric.Host) {
	if h != nil && h.Slow != nil {
		d.link = h.Slow.LinkBps
	}
	for _, f := range frames {
		way, counted := &d.out, metric.Num{}
		if f.Dir == metric.In {
			way = &d.in
		}
		if h != nil && h.NIC != nil {
			counted = metric.N(8 * float64(h.NIC.TxBytes))
			if f.Dir == metric.In {
				counted = metric.N(8 * float64(h.NIC.RxBytes))
			}
		}
		f.Suspect = way.take(f, counted, d.link)
	}
}

// take takes in one Frame and the bits that the interface counted.
func (d *doubts) take(f *metric.Frame, counted, link metric.Num) string {
	if d.seconds == 0 {
		d.counted = metric.N(0)
	}
	if counted.IsZero() || d.counted.IsZero() {
		d.counted = metric.Num{}
	} else {
		d.counted = d.counted.Add(counted)
	}
	d.seconds += f.Span
	if rx, ok := f.RxBps.Get(); ok {
		seconds := f.RxSpan.Or(f.Span)
		d.payload += rx * seconds
		d.covered += seconds
	}
	if d.seconds < doubtSpan {
		return d.suspicion
	}
	now := d.suspect(link)
	d.suspicion = ""
	if d.dubious {
		d.suspicion = now
	}
	*d = doubts{dubious: now != "", suspicion: d.suspicion}
	return d.suspicion
}

// suspect is what is wrong with the span that is over; empty where nothing is.
func (d *doubts) suspect(link metric.Num) string {
	if math.Abs(d.covered-d.seconds) > d.seconds*apart {
		return ""
	}
	rx := d.payload / d.covered
	if speed, ok := link.Get(); ok && rx > speed*linkSlack {
		return fmt.Sprintf("more arrived than the link's %.0f Mbit/s can carry", speed/1e6)
	}
	bits, ok := d.counted.Get()
	if counted := bits / d.seconds; ok && rx > counted*countSlack && rx < counted*otherWay {
		return fmt.Sprintf("the interface counted %.0f %% less than arrived", 100*(1-counted/rx))
	}
	return ""
}
