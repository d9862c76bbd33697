package iperf3

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

const (
	// noData is how long a server that receives waits for the next byte, as iperf3 since 3.10.
	noData = 120 * time.Second
	// overtime is how much longer than announced a test may take, as iperf3 since 3.7.
	overtime = 40 * time.Second
	// lookAround is how often a running session is looked at.
	lookAround = time.Second
	// mostLate is how long bytes of TCP are waited for that were sent before the end.
	mostLate = 100 * time.Millisecond
)

// run lets the traffic flow until the client says that it is over.
func (ss *session) run() error {
	ss.used = readCPU()
	if err := ss.ctl.say(testStart, testRunning); err != nil {
		return err
	}
	ss.load.Start()
	ss.begun = flow.Mono()
	omit, limit := ss.p.duration()
	omitted := after(omit)
	over := after(limit)
	tick := time.NewTicker(lookAround)
	defer tick.Stop()
	quiet := quiet{since: time.Now()}
	for {
		select {
		case w := <-ss.words:
			if w.state == testEnd {
				ss.seconds = float64(flow.Mono()-ss.begun) / 1e9
				return nil
			}
			return early(w)
		case why := <-ss.kicks:
			return kicked(why)
		case <-omitted:
			for _, s := range ss.streams {
				s.before = s.tally()
			}
			ss.begun = flow.Mono()
		case <-over:
			return &refused{ieExpired, fmt.Sprintf("the client did not end its test within %v", limit)}
		case now := <-tick.C:
			if ss.p.mode() != metric.ModeIn && quiet.still(ss.load.Read(nil).Rx.Bytes, now) >= noData {
				return &refused{ieNoData, fmt.Sprintf("no data for %v", noData)}
			}
		}
	}
}

// quiet is how long a counter has not moved.
type quiet struct {
	seen  uint64
	since time.Time
}

// still takes in the counter, and returns for how long it has been what it is.
func (q *quiet) still(n uint64, now time.Time) time.Duration {
	if n != q.seen {
		q.seen, q.since = n, now
	}
	return now.Sub(q.since)
}

// after is a channel that something comes on once, after d; never where d is 0.
func after(d time.Duration) <-chan time.Time {
	if d <= 0 {
		return nil
	}
	return time.After(d)
}

// duration is how long the client does not count at first, and how long the whole may take; 0 = as long as it likes.
func (p *params) duration() (omit, limit time.Duration) {
	omit = time.Duration(float64(p.Omit) * float64(time.Second))
	if p.Time > 0 {
		limit = omit + time.Duration(float64(p.Time)*float64(time.Second)) + overtime
	}
	return omit, limit
}

// exchange tells the client what was measured, once it has told what it did.
func (ss *session) exchange() error {
	var wg sync.WaitGroup
	for _, s := range ss.streams {
		if s.tx != nil {
			wg.Go(func() { s.stop(&ss.load) })
		}
	}
	wg.Wait()
	if err := ss.ctl.say(exchangeResults); err != nil {
		return err
	}
	w, err := ss.next(setup)
	if err != nil {
		return err
	}
	theirs, err := parseResults(w.frame)
	if err != nil {
		return &refused{ieResults, err.Error()}
	}
	ss.guest.Look()
	for _, s := range ss.streams {
		if s.rx != nil {
			wg.Go(func() { ss.await(s, theirs) })
		}
	}
	wg.Wait()
	if err := ss.ctl.sayFrame(ss.results()); err != nil {
		return err
	}
	if err := ss.ctl.say(displayResults); err != nil {
		return err
	}
	// All is said. A client that ends without its goodbye has what it wanted.
	if _, err := ss.next(saying); err != nil && !errors.Is(err, errClientGone) {
		return err
	}
	return nil
}

// next is what the client says next.
func (ss *session) next(patience time.Duration) (word, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case w, ok := <-ss.words:
		if !ok {
			return w, errClientGone
		}
		if w.err != nil {
			return w, early(w)
		}
		return w, nil
	case why := <-ss.kicks:
		return word{}, kicked(why)
	case <-timer.C:
		return word{}, &refused{ieResults, fmt.Sprintf("the client did not answer within %v", patience)}
	}
}

// await waits for what the client sent and has not arrived yet, and ends the receiver.
func (ss *session) await(s *stream, theirs *results) {
	it, _ := theirs.of(s.id)
	if ss.p.proto() == metric.UDP {
		ss.load.FinishReceiver(s.key, it.Packets.count())
		return
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	want := it.Bytes.count() + s.before.bytes
	for deadline := time.Now().Add(mostLate); s.tally().bytes < want && time.Now().Before(deadline); <-tick.C {
		continue
	}
	ss.load.FinishReceiver(s.key, 0)
}

// results are this end's.
func (ss *session) results() *results {
	r := &results{HasRetrans: unknown, Congestion: ss.congestion}
	ss.used.since(r)
	for _, s := range ss.streams {
		r.StreamResults = append(r.StreamResults, s.result(s.tally(), ss.p.proto(), ss.seconds))
		if s.tx == nil {
			continue
		}
		r.HasRetrans = 0
		if ss.p.proto() == metric.TCP {
			r.HasRetrans = 1
		}
	}
	if ss.p.Output > 0 {
		r.ServerOutput = ss.output(r)
	}
	return r
}

// output is what a client shows that asks for the server's: one line a stream.
func (ss *session) output(r *results) string {
	text := fmt.Sprintf("ethtune serve: %s test with %s\n", ss.p.proto(), ss.peer)
	for i, s := range ss.streams {
		it := r.StreamResults[i]
		role := "received"
		if s.tx != nil {
			role = "sent"
		}
		text += fmt.Sprintf("[%3d] %s %.0f bytes in %.2f s, %.3f Mbits/sec", s.id, role, it.Bytes, ss.seconds,
			float64(it.Bytes)*8/1e6/max(ss.seconds, 1e-9))
		switch {
		case ss.p.proto() == metric.UDP && s.rx != nil:
			text += fmt.Sprintf(", jitter %.3f ms, lost %.0f of %.0f", it.Jitter*1e3, it.Errors, it.Packets)
		case ss.p.proto() == metric.TCP && s.tx != nil:
			text += fmt.Sprintf(", %.0f retransmits", it.Retransmits)
		}
		text += "\n"
	}
	return text
}
