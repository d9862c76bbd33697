package iperf2

import (
	"errors"
	"sync"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// maxStats bounds what is kept for a reader that does not come.
const maxStats = 50

// tally sums up the reports of all segments, so that the far end's counters go on growing.
type tally struct {
	note func(string, ...any)
	fail func(error)

	mu    sync.Mutex
	stats []*dialect.Stats // since take was last called
	rx    flow.Rx
	mono  int64 // the time that the segments took, added up
	first int64 // number of the first datagram: 0 once the server is known to be of 2.0
	deaf  bool  // it was told that reports do not come
}

// begin says where the counters begin, before the first segment.
func (t *tally) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mono == 0 {
		t.mono = flow.Mono()
		t.publish()
	}
}

// publish adds what there is. The caller holds mu.
func (t *tally) publish() {
	if len(t.stats) == maxStats {
		t.stats = append(t.stats[:0], t.stats[1:]...)
	}
	t.stats = append(t.stats, &dialect.Stats{Mono: t.mono, Load: flow.Reading{Rx: t.rx}, OneJitter: true})
}

// take returns what came since it was last called.
func (t *tally) take() []*dialect.Stats {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := t.stats
	t.stats = nil
	return out
}

// segment is the part of the load between two reopenings of its UDP streams.
type segment struct {
	t     *tally
	n     int   // streams
	first int64 // number of their first datagrams

	mu      sync.Mutex
	ended   int
	reports int
	unknown int // streams of which something was sent and no report came
	nobody  int // because no server is there
	old     bool
	rx      flow.Rx
	took    time.Duration // sum of the streams'
	jitter  float64       // sum of the streams'
	steady  int           // how many had a jitter
}

// segment is a new one of n streams.
func (t *tally) segment(n int) *segment {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &segment{t: t, n: n, first: t.first}
}

// told takes the report of one stream that sent tx, or why there is none.
func (s *segment) told(tx sent, r report, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended++
	switch {
	case err == nil:
		s.count(tx, r)
	case tx.Packets > 0:
		s.unknown++
		if errors.Is(err, errNobody) {
			s.nobody++
		}
	}
	if s.ended == s.n {
		s.t.add(s)
	}
}

// count takes in a report.
func (s *segment) count(tx sent, r report) {
	// Of a 2.0 server the datagram number 0, which there was none of, is among the lost.
	if r.old && s.first == 1 && r.lost > 0 {
		r.lost--
	}
	s.reports++
	s.old = s.old || r.old
	arrived := tx.Packets - min(tx.Packets, r.lost)
	s.rx.Expected += tx.Packets
	s.rx.Packets += arrived
	// The server counts no more bytes of a datagram than it has room for, and those of the one that ended the stream.
	if taken := tx.Packets - tx.Refused; taken > 0 {
		s.rx.Bytes += arrived * (tx.Bytes / taken)
	}
	// The server's own time goes on to the datagram that ends the stream, which comes later.
	s.took += tx.took
	if ns, ok := r.jitterNs.Get(); ok {
		s.jitter += ns
		s.steady++
	}
}

// add sums up a segment that is over. One of which part is not known is left out: its rate would be wrong.
func (t *tally) add(s *segment) {
	t.mu.Lock()
	if s.old {
		t.first = 0
	}
	deaf := t.deaf
	t.deaf = s.unknown > 0
	if s.unknown == 0 && s.reports > 0 {
		t.rx.Bytes += s.rx.Bytes
		t.rx.Expected += s.rx.Expected
		t.rx.Packets += s.rx.Packets
		t.rx.JitterNs = metric.Num{}
		if s.steady > 0 {
			t.rx.JitterNs = metric.N(s.jitter / float64(s.steady))
		}
		t.mono += int64(s.took) / int64(s.reports)
		t.publish()
	}
	t.mu.Unlock()
	switch {
	case s.nobody > 0 && s.nobody == s.n:
		t.fail(errNobody)
	case s.unknown > 0 && !deaf:
		t.note("no report of %d of %d streams came from the iperf server: what it received is not known", s.unknown, s.n)
	}
}
