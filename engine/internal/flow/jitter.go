package flow

import "github.com/ethtune/ethtune/engine/metric"

// clockSet is a change of transit time, in nanoseconds, that no path makes: a clock was set at one of the ends. It is no
// jitter.
const clockSet = 10_000_000_000

// transit follows how the time from sender to receiver changes from one datagram to the next. The offset between the
// two clocks cancels out.
type transit struct {
	last int64
	n    uint64
	j    float64     // RFC 3550 section 6.4.1, nanoseconds
	hist metric.Hist // of |D| since it was last taken
}

// add takes one datagram's receive minus send time in nanoseconds.
func (t *transit) add(ns int64) {
	if t.n > 0 {
		d := ns - t.last
		if d < 0 {
			d = -d
		}
		if d < clockSet {
			t.j += (float64(d) - t.j) / 16
			t.hist.Add(d)
		}
	}
	t.last = ns
	t.n++
}

// estimate is the RFC 3550 estimator in nanoseconds; absent before there were two datagrams to compare.
func (t *transit) estimate() metric.Num {
	if t.n < 2 {
		return metric.Num{}
	}
	return metric.N(t.j)
}

// take adds what was counted since the last take to h and begins a new interval.
func (t *transit) take(h *metric.Hist) {
	h.Merge(&t.hist)
	t.hist.Reset()
}
