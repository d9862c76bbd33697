package iperf2

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

const (
	// overlap is how long a UDP stream is kept at the server after the next has begun, and settle how long none may begin
	// after the last has ended. iperf 2.1.8 and its kind keep what they sum up of a client for 250 ms after its last
	// stream; one that begins within that time uses it after it was freed, and the server crashes.
	overlap = 100 * time.Millisecond
	settle  = 500 * time.Millisecond
	// silentSegments is how often a UDP server may not send when it is asked to, before the session ends.
	silentSegments = 3
)

// Drive starts load of spec or re-aims the running one. The rate of what is sent changes in place, but of TCP
// not to none. TCP connections are opened or closed for another number of streams; for anything else all are opened anew,
// which over UDP happens every [Options.Segment] anyway and interrupts nothing.
func (c *Client) Drive(ctx context.Context, spec metric.Spec, fresh bool) error {
	err := c.can(spec)
	if err == nil {
		spec, err = dialect.NearOnly(spec, noFar)
	}
	if err == nil {
		err = flow.CheckCPUs(spec.NearCalls.Affinity)
	}
	if err != nil {
		return err
	}
	c.turn.Lock()
	defer c.turn.Unlock()
	if err := c.failed(); err != nil {
		return err
	}
	c.mu.Lock()
	old := c.spec
	keep, surplus := plan(old, c.streams, spec, fresh)
	c.mu.Unlock()
	opened, err := c.open(ctx, spec, spec.Streams-len(keep))
	if err != nil {
		return err
	}
	c.swap(spec, keep, surplus, opened)
	if spec.Proto == metric.UDP && len(opened) > 0 {
		c.chain()
	}
	switch {
	case len(keep) == 0 && len(surplus) > 0:
		c.hooks.Note("streams reopened: %s %s", spec.Proto, spec.Mode)
	case len(opened) > 0:
		c.hooks.Note("%s opened", plural(len(opened), "stream"))
	case len(surplus) > 0:
		c.hooks.Note("%s closed", plural(len(surplus), "stream"))
	}
	if len(keep) > 0 && (old.RateBps != spec.RateBps || old.NearCalls != spec.NearCalls) {
		if err := c.load.Aim(spec.RateBps, spec.NearCalls); err != nil {
			return fmt.Errorf("re-aim: %w", err)
		}
	}
	return nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// can is why spec cannot be driven at all.
func (c *Client) can(spec metric.Spec) error {
	switch {
	case spec.Proto != c.proto:
		return fmt.Errorf("%w: this server was found to speak %s, and an iperf 2 server speaks nothing else: start iperf -s%s there",
			dialect.ErrCannot, c.proto, map[metric.Proto]string{metric.UDP: " -u"}[spec.Proto])
	case spec.Proto == metric.UDP && spec.Mode == metric.ModeBoth:
		return fmt.Errorf("%w: %s", dialect.ErrCannot, noBoth)
	case spec.Proto == metric.UDP && spec.Mode == metric.ModeIn && spec.Size > stockRoom:
		return fmt.Errorf("%w: %s", dialect.ErrCannot, noRoom)
	case spec.Far != metric.Socket{} && spec.Far != spec.Near:
		return fmt.Errorf("%w: far end: %s", dialect.ErrCannot, noFar)
	}
	return nil
}

// What the dialect has no words for.
const (
	noFar   = "an iperf 2 client cannot set the server's sockets: start iperf there with what is wanted"
	noBoth  = "UDP goes out or in here, not both at once"
	noRoom  = "an iperf 2 server has room for datagrams of 1470 bytes, and crashes when it is asked to send larger ones"
	noProbe = "iperf 2 has no echo"
	noProto = "an iperf 2 server speaks TCP, or with -u UDP, and nothing else"
)

// fixed says of a server of proto what cannot be done.
func fixed(proto metric.Proto) map[string]string {
	f := map[string]string{"proto": noProto, "probe": noProbe, "far_calls": noFar}
	for _, option := range []string{"sndbuf", "rcvbuf", "congestion", "mss", "nodelay", "tos"} {
		f["far."+option] = noFar
	}
	if proto == metric.UDP {
		f["mode.both"] = noBoth
	}
	return f
}

// plan sorts the streams of old into those that want still has a use for and the others. The caller holds mu.
func plan(old metric.Spec, have []*stream, want metric.Spec, fresh bool) (keep, surplus []*stream) {
	fits := !fresh && old.Mode == want.Mode && old.Size == want.Size && old.Near == want.Near &&
		old.NearCalls.Copy == want.NearCalls.Copy && old.NearCalls.SkipCopy == want.NearCalls.SkipCopy
	fits = fits && !old.Unpaces(want, metric.GrantedSocket{}, metric.GrantedSocket{})
	// The server's own rate is told once, at the head.
	fits = fits && (want.Mode == metric.ModeOut || old.RateBps == want.RateBps)
	// The reports of a segment are of all its streams.
	fits = fits && (want.Proto == metric.TCP || old.Streams == want.Streams)
	for _, s := range have {
		if fits && !s.dead && len(keep) < want.Streams {
			keep = append(keep, s)
		} else {
			surplus = append(surplus, s)
		}
	}
	return keep, surplus
}

// swap lets the opened streams run in the place of the surplus. The caller holds turn.
func (c *Client) swap(spec metric.Spec, keep, surplus, opened []*stream) {
	c.mu.Lock()
	c.spec, c.wanted = spec, true
	c.streams = slices.Concat(keep, opened)
	c.mu.Unlock()
	if spec.Proto == metric.UDP && spec.Mode == metric.ModeOut {
		c.far.begin()
	}
	c.hooks.Begin()
	c.start(spec, surplus, opened)
	for _, s := range opened {
		c.wg.Go(func() {
			if s.ended(c.ctx) {
				c.lost(s)
			}
		})
	}
	c.parting.Go(func() {
		if spec.Proto == metric.UDP && spec.Mode == metric.ModeOut {
			select {
			case <-time.After(overlap):
			case <-c.ctx.Done():
			}
		}
		c.part(surplus)
	})
}

// apart is the time between the first datagrams of two UDP streams. A stock server makes the socket of a stream out of
// the one on which it waits for the next: what comes of another stream meanwhile is counted there, or refused.
const apart = 10 * time.Millisecond

// start lets the opened streams run, and ends the sending of the surplus. UDP streams take the place of the old one by one.
func (c *Client) start(spec metric.Spec, surplus, opened []*stream) {
	if spec.Proto == metric.TCP || spec.Mode == metric.ModeIn {
		c.halt(surplus)
		c.enter(opened)
		return
	}
	tick := time.NewTicker(apart)
	defer tick.Stop()
	for i := range max(len(opened), len(surplus)) {
		if i < len(surplus) {
			c.halt(surplus[i : i+1])
		}
		if i < len(opened) {
			c.enter(opened[i : i+1])
			<-tick.C
		}
	}
}

// enter lets streams run and counts them from now on.
func (c *Client) enter(streams []*stream) {
	for _, s := range streams {
		if s.out != nil {
			c.load.AddSender(s.id, s.out)
		}
		if s.in != nil {
			c.load.AddReceiver(s.id, s.in)
		}
	}
	c.load.Start()
}

// halt ends the sending of streams.
func (c *Client) halt(streams []*stream) {
	var wg sync.WaitGroup
	for _, s := range streams {
		if s.out != nil {
			wg.Go(s.out.halt)
		}
	}
	wg.Wait()
}

// part ends streams wholly.
func (c *Client) part(streams []*stream) {
	var wg sync.WaitGroup
	for _, s := range streams {
		wg.Go(func() {
			if s.out != nil {
				c.load.CloseSender(s.id)
			}
			if s.in != nil {
				sent := uint64(0)
				if s.wire != nil {
					sent = s.wire.sent()
				}
				c.load.FinishReceiver(s.id, sent)
			}
		})
	}
	wg.Wait()
}

// lost is the end of a stream that nobody here ended. A server that has none left is gone.
func (c *Client) lost(s *stream) {
	c.mu.Lock()
	i := slices.Index(c.streams, s)
	if i >= 0 {
		s.dead = true
	}
	all := i >= 0 && !slices.ContainsFunc(c.streams, func(s *stream) bool { return !s.dead })
	c.mu.Unlock()
	switch {
	case all:
		c.fail(s.err())
	case i >= 0:
		c.hooks.Note("the iperf server ended a stream: %v", s.err())
	}
}

// chain opens the UDP streams anew every segment, from now on. The caller holds turn.
func (c *Client) chain() {
	ctx, cancel := context.WithCancel(c.ctx)
	c.mu.Lock()
	stop := c.stop
	c.stop = cancel
	every := c.segment(c.spec.Mode)
	c.mu.Unlock()
	c.silent = 0
	if stop != nil {
		stop()
	}
	c.wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				c.next(ctx)
			}
		}
	})
}

// next begins the next segment. Where it cannot, the streams of the last one stay, and it is tried again in time.
func (c *Client) next(ctx context.Context) {
	c.turn.Lock()
	defer c.turn.Unlock()
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	spec, old := c.spec, c.streams
	c.mu.Unlock()
	opened, err := c.open(ctx, spec, spec.Streams)
	if err == nil {
		c.silent = 0
		c.swap(spec, nil, old, opened)
		return
	}
	if ctx.Err() != nil {
		return
	}
	c.silent++
	switch {
	case c.silent >= silentSegments && errors.Is(err, errOld):
		c.fail(errors.New("it sends no more"))
	case c.silent == 1:
		c.hooks.Note("the next datagrams: %v", err)
	}
}
