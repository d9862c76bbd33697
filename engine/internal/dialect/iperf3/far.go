package iperf3

import (
	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// maxStats bounds what is kept for a reader that does not come.
const maxStats = 50

// far sums up what the far end told, a test at a time. Its clock goes only while tests run, so that rates are those of the
// time that was measured, and not of the gaps between tests.
type far struct {
	mono  int64 // ns
	sum   flow.Reading
	stats []*dialect.Stats
}

// begin says where the counters begin, once.
func (f *far) begin() {
	if f.mono == 0 {
		f.mono = 1
		f.put()
	}
}

// add takes in the results of a test of t's streams. The streams' own final counts are sent, by iperf3's id.
func (f *far) add(t *test, r *results, sent map[int]flow.Tx) {
	ns := t.arrived(r)
	var jitter metric.Num
	var sum float64
	n := 0
	f.sum.Rx.NoDrops = true
	for _, s := range t.streams {
		it, ok := r.of(s.id)
		if !ok {
			continue
		}
		if s.tx == nil {
			f.sum.Tx.Bytes += it.Bytes.count()
			f.sum.Tx.Retrans += it.Retransmits.count()
			if t.spec.Proto == metric.UDP {
				f.sum.Tx.Packets += it.Packets.count()
			}
			continue
		}
		f.sum.Rx.Bytes += it.Bytes.count()
		if t.spec.Proto == metric.UDP {
			// What it did not see after the last one it saw is lost as well, so what was sent counts.
			f.sum.Rx.Packets += min(it.received(), sent[s.id].Packets)
			f.sum.Rx.Expected += sent[s.id].Packets
			if it.Jitter >= 0 && it.received() > 1 {
				sum += float64(it.Jitter) * 1e9
				n++
			}
		}
	}
	if n > 0 {
		jitter = metric.N(sum / float64(n))
	}
	f.sum.Rx.JitterNs = jitter
	f.mono += ns
	f.put()
}

// arrived is in how many nanoseconds the far end counted what it counted. It takes its time from the start to TEST_END, in
// which nothing arrived for a round trip and for as long as this end waited. Where a queue was full on the way it went on
// to arrive after this end had stopped.
func (t *test) arrived(r *results) int64 {
	var longest number
	for _, s := range r.StreamResults {
		longest = max(longest, s.EndTime-max(s.StartTime, 0))
	}
	if t.spec.Mode == metric.ModeIn && longest > 0 {
		return min(int64(longest*1e9), 2*t.whole) // it sent, and waited for nothing
	}
	return max(t.ns, min(int64(longest*1e9), t.whole)-t.idle)
}

func (f *far) put() {
	if len(f.stats) == maxStats {
		f.stats = append(f.stats[:0], f.stats[1:]...)
	}
	f.stats = append(f.stats, &dialect.Stats{Mono: f.mono, Load: f.sum, OneJitter: true})
}

func (f *far) take() []*dialect.Stats {
	s := f.stats
	f.stats = nil
	return s
}
