package iperf3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// test is one test of iperf3 that a Client runs.
type test struct {
	spec    metric.Spec
	ctl     *control
	cookie  cookie
	size    int
	streams []*stream
	words   chan word
	ending  atomic.Bool // the end was asked for
	gone    error       // why the connection ended; good once words is closed
	heard   chan word   // what the watcher passes on to who ends the test
	segment *time.Timer // ends it and begins the next; nil where it is not of a chain
	used    cpu
	begun   int64 // CLOCK_MONOTONIC ns
	ns      int64 // how long this end sent; set at its end, as what follows
	idle    int64 // ns of the server's time in which nothing could arrive: the round trip, and the wait before TEST_END
	whole   int64 // ns up to the results
}

// begin begins a test of spec and lets its traffic flow. The caller holds aim.
func (c *Client) begin(ctx context.Context, spec metric.Spec, p patience) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.alive, cancel)()
	t, err := c.open(ctx, spec, p)
	if err != nil {
		return err
	}
	var granted metric.Granted
	granted.Size = t.size
	if granted.Near, err = flow.Granted(t.asked(), spec.Proto); err != nil {
		c.abandon(t)
		return err
	}
	c.mu.Lock()
	c.spec, c.wanted, c.flowing, c.granted = spec, true, true, granted
	c.far.begin()
	hush := c.closing
	c.mu.Unlock()
	if !hush && c.hooks.Begin != nil {
		c.hooks.Begin()
	}
	t.used, t.begun = readCPU(), flow.Mono()
	c.load.Start()
	c.test = t
	go clientHears.hear(t.ctl.conn, t.words)
	go c.watch(t)
	if d := c.segment(spec); d > 0 {
		t.segment = time.AfterFunc(d, func() { c.turn(t) })
	}
	return nil
}

// segment is how long a test of spec takes before the next is chained to it; 0 = it is not.
func (c *Client) segment(spec metric.Spec) time.Duration {
	switch {
	case c.o.Segment > 0:
		return c.o.Segment
	case spec.Proto == metric.UDP && spec.Mode != metric.ModeIn:
		return DefaultSegment
	}
	return 0
}

// watch passes on what the server says to who ends the test. Before that, anything is the end of the session.
func (c *Client) watch(t *test) {
	for w := range t.words {
		if !t.ending.Load() {
			if w.err == nil {
				w.err = fmt.Errorf("an unexpected state %d while the test ran", w.state)
			}
			t.gone = w.err
			c.fail(lost(w.err))
			break
		}
		t.heard <- w
	}
	close(t.heard)
}

// lost words the end of a control connection.
func lost(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the iperf3 server closed the control connection")
	}
	return err
}

// open brings a test to where traffic is about to flow.
func (c *Client) open(ctx context.Context, spec metric.Spec, p patience) (*test, error) {
	if h := c.held; h != nil {
		c.held = nil
		if ctl, ck, ok := h.take(); ok {
			t, err := c.openOn(ctx, spec, ctl, ck)
			if err == nil || !passing(err) {
				return t, err
			}
			// The server may have gone on without it.
		}
	}
	ctl, ck, err := c.reach(ctx, p)
	if err != nil {
		return nil, err
	}
	return c.openOn(ctx, spec, ctl, ck)
}

// openOn is open on a connection on which the server waits for parameters.
func (c *Client) openOn(ctx context.Context, spec metric.Spec, ctl *control, ck cookie) (*test, error) {
	t := &test{spec: spec, ctl: ctl, cookie: ck, words: make(chan word, maxWords), heard: make(chan word, maxWords)}
	stop := context.AfterFunc(ctx, func() { _ = ctl.conn.Close() })
	var err error
	if err = c.negotiate(ctx, t); err == nil && !stop() {
		err = ctx.Err()
	}
	if err != nil {
		c.abandon(t)
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("iperf3 test with %s: %w", c.addr, err)
	}
	return t, nil
}

// negotiate goes through the states up to TEST_RUNNING.
func (c *Client) negotiate(ctx context.Context, t *test) error {
	var err error
	if t.size, err = c.size(t.spec); err != nil {
		return err
	}
	if err := t.ctl.sayFrame(newParams(t.spec, t.size)); err != nil {
		return err
	}
	if err := t.expect(createStreams); err != nil {
		return refusal(err)
	}
	if err := c.openStreams(ctx, t); err != nil {
		if local(err) {
			return err
		}
		if said := t.expect(testStart); said != nil && !errors.Is(said, io.EOF) {
			return said // the server says why it does not take the streams
		}
		return err
	}
	if err := t.expect(testStart); err != nil {
		return refusal(err)
	}
	if err := t.expect(testRunning); err != nil {
		return err
	}
	return t.ctl.conn.SetReadDeadline(time.Time{})
}

// refusal words the end of the connection in the place of a state: up to 3.20 that is all a server has to say.
func refusal(err error) error {
	if passing(err) {
		return fmt.Errorf("the server closed the connection without a reason, which it does where it cannot grant what is asked (-w, -M, -l, -P); its own log says more: %w", err)
	}
	return err
}

// expect reads one state, which must be want. That it is not is the server's doing.
func (t *test) expect(want state) error {
	if err := t.ctl.conn.SetReadDeadline(time.Now().Add(setup)); err != nil {
		return err
	}
	got, err := readState(t.ctl.conn)
	switch {
	case err != nil:
	case got == want:
		return nil
	case got == accessDenied:
		err = errDenied
	case got == serverTerminate:
		err = errServerTerminate
	default:
		err = fmt.Errorf("the server says state %d where %d is due", got, want)
	}
	return dialect.OfPeer(err)
}

// abandon lets go of a test that did not begin.
func (c *Client) abandon(t *test) {
	_ = t.ctl.conn.Close()
	for _, s := range t.streams {
		c.forget(s, 0)
	}
}

// forget ends a stream whose sender sent so many datagrams.
func (c *Client) forget(s *stream, sent uint64) {
	if s.tx != nil {
		c.load.CloseSender(s.key)
	} else {
		c.load.FinishReceiver(s.key, sent)
	}
	s.letGo()
}
