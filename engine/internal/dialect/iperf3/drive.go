package iperf3

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// waiting is how long a server is tried that served this session before.
var waiting = patience{refused: 2 * time.Second, busy: 5 * time.Second}

// fixed says what an iperf3 server cannot be asked for.
func fixed() map[string]string {
	return map[string]string{
		"probe":     "iperf3 has no echo",
		"far_calls": "an iperf3 server makes its system calls as its own command line says",
	}
}

// can reports the first thing in s that iperf3 has no words for. A probe is not one: it is simply not there.
func can(s metric.Spec) error {
	if s.Far.SndBuf != 0 && s.Far.RcvBuf != 0 && s.Far.SndBuf != s.Far.RcvBuf {
		return fmt.Errorf("%w: far.sndbuf %d and far.rcvbuf %d: an iperf3 server gives both the same size (-w); set one, or both alike",
			dialect.ErrCannot, s.Far.SndBuf, s.Far.RcvBuf)
	}
	return nil
}

// Drive starts load of spec or re-aims the running one. A test knows one spec: what only the near senders do changes in
// place, for anything else the test ends and the next begins. Where that one cannot be had the old spec is taken up again.
func (c *Client) Drive(ctx context.Context, spec metric.Spec, fresh bool) error {
	err := errors.Join(spec.Validate(), can(spec), flow.CheckCPUs(spec.NearCalls.Affinity))
	if err == nil {
		spec, err = dialect.NearOnly(spec, fixed()["far_calls"]+"; start ethtune serve there to change them")
	}
	if err != nil {
		return err
	}
	c.aim.Lock()
	defer c.aim.Unlock()
	if err := c.over(); err != nil {
		return err
	}
	t := c.test
	if t == nil {
		return c.begin(ctx, spec, waiting)
	}
	if !fresh && inPlace(t.spec, spec) {
		t.spec = spec
		c.mu.Lock()
		c.spec, c.wanted = spec, true
		c.mu.Unlock()
		return c.load.Aim(spec.RateBps, spec.NearCalls)
	}
	// From here on the load changes: finish it even if the caller does not wait.
	if err := c.end(t); err != nil {
		c.fail(err)
		return err
	}
	err = c.begin(ctx, spec, waiting)
	if err == nil {
		c.note("streams reopened: %s %s", spec.Proto, spec.Mode)
		return nil
	}
	if c.over() == nil {
		if again := c.begin(context.WithoutCancel(ctx), t.spec, waiting); again != nil {
			c.fail(again)
		}
	}
	return err
}

// over is the reason why nothing can be driven.
func (c *Client) over() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return c.err
	case c.closing || c.ended:
		return errEnded
	}
	return nil
}

// inPlace reports whether a running test of old becomes one of want by what its own senders do.
func inPlace(old, want metric.Spec) bool {
	if old.Mode != metric.ModeOut && old.RateBps != want.RateBps {
		return false // the far end sends at the rate that it was told first
	}
	if old.Unpaces(want, metric.GrantedSocket{}, metric.GrantedSocket{}) {
		return false
	}
	if old.NearCalls.Copy != want.NearCalls.Copy || old.NearCalls.SkipCopy != want.NearCalls.SkipCopy {
		return false
	}
	old.RateBps, old.NearCalls, old.Probe = want.RateBps, want.NearCalls, want.Probe
	return old == want
}

// Pause ends the load. No connection is held meanwhile, so that the server is free for others.
func (c *Client) Pause(context.Context) error {
	c.aim.Lock()
	defer c.aim.Unlock()
	c.drop()
	c.mu.Lock()
	c.wanted, c.flowing = false, false
	c.mu.Unlock()
	t := c.test
	if t == nil || c.over() != nil {
		return nil
	}
	if err := c.end(t); err != nil {
		c.fail(err)
		return err
	}
	return nil
}

// turn ends a test of a chain and begins the next of the same spec.
func (c *Client) turn(t *test) {
	c.aim.Lock()
	defer c.aim.Unlock()
	if c.test != t || c.over() != nil {
		return
	}
	err := c.end(t)
	if err == nil {
		err = c.begin(c.alive, t.spec, waiting)
	}
	if err != nil {
		c.fail(err)
	}
}
