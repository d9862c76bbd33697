package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect/native"
	"github.com/ethtune/ethtune/engine/metric"
)

// tidyTimeout bounds what is still asked of the peer after the caller has given up.
const tidyTimeout = 5 * time.Second

// Drive starts traffic, or re-aims the running one. Rate, streams, direction, calls, congestion control, TCP_NODELAY and type
// of service change in place; for anything else the new streams are opened beside the old ones before those are closed, so
// that on an error the old load goes on.
func (e *Engine) Drive(ctx context.Context, spec metric.Spec) (metric.Granted, error) {
	if err := spec.Validate(); err != nil {
		return metric.Granted{}, err
	}
	e.aim.Lock()
	defer e.aim.Unlock()
	return e.drive(ctx, spec, false)
}

// Reopen closes the streams of the load and opens new ones, for settings that only new sockets see, and after [Engine.Redial].
// Where no load is wanted it only lets the probe go on.
func (e *Engine) Reopen(ctx context.Context) (metric.Granted, error) {
	e.aim.Lock()
	defer e.aim.Unlock()
	if err := e.alive(); err != nil {
		return metric.Granted{}, err
	}
	e.mu.Lock()
	spec, wanted := e.spec, e.wanted
	e.mu.Unlock()
	if !wanted {
		if spec.Proto != "" { // there was load once
			e.begin()
			e.aimProbe(ctx, spec.Probe)
		}
		return e.Granted(), nil
	}
	if err := e.client.Renew(ctx); err != nil {
		return e.Granted(), fmt.Errorf("renew: %w", err)
	}
	return e.drive(ctx, spec, true)
}

// drive is Drive for one who holds aim. With fresh nothing of the old load is kept.
func (e *Engine) drive(ctx context.Context, spec metric.Spec, fresh bool) (metric.Granted, error) {
	if err := e.alive(); err != nil {
		return metric.Granted{}, err
	}
	if !fresh {
		if err := e.retune(ctx, spec); err != nil {
			return e.Granted(), err
		}
	}
	e.mu.Lock()
	p := plan(e.spec, e.streams, spec, fresh)
	e.mu.Unlock()
	opened, err := e.open(ctx, p.missing)
	if err != nil {
		return e.Granted(), err
	}
	// From here on the load changes: finish it even if the caller does not wait.
	err = e.swap(context.WithoutCancel(ctx), spec, p, opened)
	if err == nil {
		e.tell(p, spec)
		e.aimProbe(ctx, spec.Probe)
	}
	return e.Granted(), err
}

// Pause ends the load. The probe stays. Where the peer is lost there is no load, and none after [Engine.Redial].
func (e *Engine) Pause(ctx context.Context) error {
	e.aim.Lock()
	defer e.aim.Unlock()
	e.mu.Lock()
	ids, closed := idsOf(e.streams), e.closed
	e.streams, e.wanted = nil, false
	lost := e.err != nil
	e.mu.Unlock()
	switch {
	case closed:
		return errClosed
	case lost || len(ids) == 0:
		return nil
	}
	err := e.client.CloseStreams(context.WithoutCancel(ctx), ids...)
	e.note("load stopped")
	return err
}

// alive is the reason why nothing can be driven.
func (e *Engine) alive() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return errClosed
	case e.err != nil:
		return e.err
	}
	return nil
}

// change is how a load becomes another.
type change struct {
	keep    []stream
	surplus []stream
	missing []native.Want
	reopen  bool // nothing of the old load fits the new
}

// plan compares the running streams of old with what is wanted. With fresh none of them fits.
func plan(old metric.Spec, have []stream, want metric.Spec, fresh bool) change {
	var c change
	keep := !fresh && fits(old, want)
	for _, dir := range []metric.Dir{metric.Out, metric.In} {
		n := 0
		if slices.Contains(want.Mode.Dirs(), dir) {
			n = want.Streams
		}
		for _, s := range have {
			if s.dir != dir {
				continue
			}
			if keep && n > 0 {
				c.keep = append(c.keep, s)
				n--
			} else {
				c.surplus = append(c.surplus, s)
			}
		}
		for range n {
			c.missing = append(c.missing, native.Want{Proto: want.Proto, Dir: dir, Size: want.Size, Rate: want.RateBps,
				Near: want.Near, Far: want.Far, NearCalls: want.NearCalls, FarCalls: want.FarCalls})
		}
	}
	c.reopen = len(have) > 0 && !keep
	return c
}

// fits reports whether a running stream can go from old to want.
func fits(old, want metric.Spec) bool {
	return old.Proto == want.Proto && old.Size == want.Size && old.Near.Retunes(want.Near) && old.Far.Retunes(want.Far) &&
		sameBytes(old.NearCalls, want.NearCalls) && sameBytes(old.FarCalls, want.FarCalls)
}

// sameBytes reports whether a running stream can go from one to the other: how bytes are handed over is for its life.
func sameBytes(a, b metric.Calls) bool { return a.Copy == b.Copy && a.SkipCopy == b.SkipCopy }

// open opens all of wants, or none.
func (e *Engine) open(ctx context.Context, wants []native.Want) ([]stream, error) {
	out := make([]stream, len(wants))
	errs := make([]error, len(wants))
	var wg sync.WaitGroup
	for i, w := range wants {
		wg.Go(func() {
			out[i].dir = w.Dir
			out[i].Opened, errs[i] = e.client.Open(ctx, w)
		})
	}
	wg.Wait()
	first := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if first < 0 {
		slices.SortStableFunc(out, byDirThenID)
		return out, nil
	}
	var ids []uint32
	for i, err := range errs {
		if err == nil {
			ids = append(ids, out[i].ID)
		}
	}
	tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTimeout)
	defer cancel()
	return nil, errors.Join(errs[first], e.client.CloseStreams(tidy, ids...))
}

// retune gives the running streams what they can take of spec: rate, calls and socket options. Where an end refuses any of
// it the old ones are put back, and nothing has changed.
func (e *Engine) retune(ctx context.Context, spec metric.Spec) error {
	e.mu.Lock()
	old, streams := e.spec, e.streams
	e.mu.Unlock()
	if len(streams) == 0 || !fits(old, spec) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTimeout)
	defer cancel()
	if old.RateBps != spec.RateBps || old.NearCalls != spec.NearCalls || old.FarCalls != spec.FarCalls {
		if err := e.client.Aim(ctx, spec.RateBps, spec.NearCalls, spec.FarCalls); err != nil {
			return errors.Join(fmt.Errorf("re-aim: %w", err), e.client.Aim(ctx, old.RateBps, old.NearCalls, old.FarCalls))
		}
	}
	if old.Near != spec.Near || old.Far != spec.Far {
		near, far, err := e.client.Tune(ctx, spec.Near, spec.Far)
		if err != nil {
			back := old
			back.Near.Congestion = cmp.Or(old.Near.Congestion, streams[0].Near.Congestion)
			back.Far.Congestion = cmp.Or(old.Far.Congestion, streams[0].Far.Congestion)
			_, _, undo := e.client.Tune(ctx, back.Near, back.Far)
			return errors.Join(fmt.Errorf("re-tune: %w", err), undo, e.client.Aim(ctx, old.RateBps, old.NearCalls, old.FarCalls))
		}
		e.mu.Lock()
		for i := range streams {
			s := &streams[i]
			if g, ok := near[s.ID]; ok {
				s.Near = g
			}
			if g, ok := far[s.ID]; ok {
				s.Far = g
			}
		}
		e.mu.Unlock()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spec.RateBps, e.spec.Near, e.spec.Far = spec.RateBps, spec.Near, spec.Far
	e.spec.NearCalls, e.spec.FarCalls = spec.NearCalls, spec.FarCalls
	return nil
}

// swap ends what is surplus and lets the new streams run. Where the far end does not say that the surplus has ended, the new
// ones are let go, and what is left of the load is what was to be kept.
func (e *Engine) swap(ctx context.Context, spec metric.Spec, p change, fresh []stream) error {
	ctx, cancel := context.WithTimeout(ctx, tidyTimeout)
	defer cancel()
	if err := e.client.CloseStreams(ctx, idsOf(p.surplus)...); err != nil {
		e.mu.Lock()
		e.streams = p.keep
		e.mu.Unlock()
		return errors.Join(fmt.Errorf("end streams: %w", err), e.client.CloseStreams(ctx, idsOf(fresh)...))
	}
	e.mu.Lock()
	e.spec, e.wanted = spec, true
	e.streams = slices.Concat(p.keep, fresh)
	slices.SortStableFunc(e.streams, byDirThenID)
	e.mu.Unlock()
	e.begin()
	if len(fresh) == 0 {
		return nil
	}
	if err := e.client.Start(ctx); err != nil {
		return fmt.Errorf("start streams: %w", err)
	}
	return nil
}

// begin lets the measurement begin, once.
func (e *Engine) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.started.IsZero() {
		e.started = time.Now()
	}
	if !e.flowing {
		e.flowing = true
		e.measures.begin()
	}
}

// tell puts what happened into the feed. A change of rate alone says nothing: it is a knob, and has its mark.
func (e *Engine) tell(p change, spec metric.Spec) {
	opened, closed := len(p.missing), len(p.surplus)
	switch {
	case p.reopen:
		e.note("streams reopened: %s %s", spec.Proto, spec.Mode)
	case opened > 0 && closed > 0:
		e.note("direction %s: %s", spec.Mode, plural(len(p.keep)+opened, "stream"))
	case opened > 0:
		e.note("%s opened", plural(opened, "stream"))
	case closed > 0:
		e.note("%s closed", plural(closed, "stream"))
	}
}

// aimProbe brings the echo stream to perSecond. Load without a probe is still load, so what goes wrong is a note, and
// not tried again until another rate is asked for.
func (e *Engine) aimProbe(ctx context.Context, perSecond int) {
	e.mu.Lock()
	probe, id, failed := e.probe, e.probeID, e.noProbe
	e.mu.Unlock()
	switch {
	case perSecond == 0 && probe != nil:
		e.setProbe(nil, 0, 0)
		_ = probe.Close()
		_ = e.client.CloseStreams(ctx, id) // where this is lost the far end ends it with the session
	case perSecond == 0 || perSecond == failed:
	case probe != nil:
		_ = probe.SetRate(perSecond) // a running one always takes it
	default:
		p, id, err := e.client.OpenProbe(ctx, perSecond)
		if err != nil {
			e.setProbe(nil, 0, perSecond)
			e.note("no probe: %s", strings.TrimPrefix(err.Error(), "open probe: "))
			return
		}
		e.setProbe(p, id, 0)
	}
}

func byDirThenID(a, b stream) int {
	if a.dir != b.dir {
		return -strings.Compare(string(a.dir), string(b.dir)) // out before in
	}
	return cmp.Compare(a.ID, b.ID)
}

func idsOf(streams []stream) []uint32 {
	ids := make([]uint32, len(streams))
	for i, s := range streams {
		ids[i] = s.ID
	}
	return ids
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
