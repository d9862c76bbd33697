package iperf3

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// Bounds of the wait between the last datagram and TEST_END, which would overtake it: the server reads no more then, and
// what is still in its socket would count as lost.
const (
	leastDrain = 5 * time.Millisecond
	mostDrain  = 100 * time.Millisecond
)

// end ends the running test, and takes in what the far end measured. The caller holds aim. Whatever the error, the test is
// over and its streams are closed.
func (c *Client) end(t *test) error {
	t.ending.Store(true)
	c.test = nil
	if t.segment != nil {
		t.segment.Stop()
	}
	sent := c.stopSenders(t)
	r, err := c.exchange(t, sent)
	_ = t.ctl.conn.Close()
	for _, s := range t.streams {
		var n uint64
		if r != nil {
			it, _ := r.of(s.id)
			n = it.Packets.count()
		}
		if s.rx == nil || t.spec.Proto == metric.TCP {
			c.forget(s, 0)
			continue
		}
		// What is still on its way is waited for beside the next test.
		c.wg.Go(func() { c.forget(s, n) })
	}
	if err != nil {
		return fmt.Errorf("end the iperf3 test: %w", lost(err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// What is told once, at the end of a long test, would be taken for a far end that tells it all the time.
	if c.segment(t.spec) > 0 {
		c.far.add(t, r, sent)
	}
	return nil
}

// stopSenders ends what sends, and waits for what it sent to arrive. Their final counts are by iperf3's id.
func (c *Client) stopSenders(t *test) map[int]flow.Tx {
	sent := make(map[int]flow.Tx)
	var mu sync.Mutex // guards sent
	var wg sync.WaitGroup
	for _, s := range t.streams {
		if s.tx == nil {
			continue
		}
		wg.Go(func() {
			tx := s.stop(&c.load)
			mu.Lock()
			defer mu.Unlock()
			sent[s.id] = tx
		})
	}
	wg.Wait()
	t.ns = max(flow.Mono()-t.begun, 1)
	now, least := t.ctl.rtt()
	if t.spec.Proto == metric.UDP && len(sent) > 0 {
		<-time.After(min(max(leastDrain, 2*now), mostDrain))
	}
	t.idle = flow.Mono() - t.begun - t.ns + int64(least)
	return sent
}

// exchange goes through the states from TEST_END to goodbye, and returns the far end's results. Receivers go on: a server
// that sends waits for them.
func (c *Client) exchange(t *test, sent map[int]flow.Tx) (*results, error) {
	ctx, cancel := context.WithTimeout(c.grace, setup)
	defer cancel()
	if err := t.ctl.say(testEnd); err != nil {
		return nil, err
	}
	own := t.results(sent)
	if _, err := t.next(ctx); err != nil {
		return nil, err
	}
	if err := t.ctl.sayFrame(own); err != nil {
		return nil, err
	}
	w, err := t.next(ctx)
	if err != nil {
		return nil, err
	}
	r, err := parseResults(w.frame)
	if err != nil {
		return nil, err
	}
	t.whole = flow.Mono() - t.begun
	if _, err := t.next(ctx); err != nil {
		return nil, err
	}
	return r, t.ctl.say(iperfDone)
}

// next is what the server says next.
func (t *test) next(ctx context.Context) (word, error) {
	select {
	case w, ok := <-t.heard:
		if !ok {
			w.err = t.gone
		}
		if !ok && w.err == nil {
			w.err = errEnded
		}
		return w, w.err
	case <-ctx.Done():
		return word{}, fmt.Errorf("the iperf3 server does not answer: %w", ctx.Err())
	}
}

// results are this end's.
func (t *test) results(sent map[int]flow.Tx) *results {
	r := &results{HasRetrans: unknown}
	t.used.since(r)
	seconds := float64(flow.Mono()-t.begun) / 1e9
	for _, s := range t.streams {
		n := s.tally()
		took := seconds
		if s.tx != nil {
			took = float64(t.ns) / 1e9
			if t.spec.Proto == metric.TCP {
				r.HasRetrans = 1
			} else {
				r.HasRetrans = 0
			}
		}
		r.StreamResults = append(r.StreamResults, s.result(n, t.spec.Proto, took))
	}
	return r
}

// rtt is the kernel's smoothed and its least round trip of the control connection; 0 where they are not known.
func (c *control) rtt() (now, least time.Duration) {
	raw, err := c.conn.SyscallConn()
	if err != nil {
		return 0, 0
	}
	_ = raw.Control(func(fd uintptr) {
		if i, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			now, least = time.Duration(i.Rtt)*time.Microsecond, time.Duration(i.Min_rtt)*time.Microsecond
		}
	})
	return now, min(least, now)
}
