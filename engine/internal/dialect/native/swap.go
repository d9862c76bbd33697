package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ethtune/ethtune/engine/metric"
)

// change is how a load becomes another.
type change struct {
	keep    []stream
	surplus []stream
	missing []Want
	reopen  bool // nothing of the old load fits the new
}

// plan compares the running streams of old with what is wanted. With fresh none of them fits.
func plan(old metric.Spec, have []stream, want metric.Spec, fresh bool) change {
	var c change
	keep := !fresh && fits(old, have, want)
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
			c.missing = append(c.missing, Want{Proto: want.Proto, Dir: dir, Size: want.Size, Rate: want.RateBps,
				Near: want.Near, Far: want.Far, NearCalls: want.NearCalls, FarCalls: want.FarCalls})
		}
	}
	c.reopen = len(have) > 0 && !keep
	return c
}

// fits reports whether the running streams can go from old to want.
func fits(old metric.Spec, have []stream, want metric.Spec) bool {
	if len(have) > 0 && old.Unpaces(want, have[0].Near, have[0].Far) {
		return false
	}
	return old.Proto == want.Proto && old.Size == want.Size && old.Near.Retunes(want.Near) && old.Far.Retunes(want.Far) &&
		sameBytes(old.NearCalls, want.NearCalls) && sameBytes(old.FarCalls, want.FarCalls)
}

// sameBytes reports whether a running stream can go from one to the other: how bytes are handed over is for its life.
func sameBytes(a, b metric.Calls) bool { return a.Copy == b.Copy && a.SkipCopy == b.SkipCopy }

// open opens all of wants, or none.
func (d *Driver) open(ctx context.Context, wants []Want) ([]stream, error) {
	out := make([]stream, len(wants))
	errs := make([]error, len(wants))
	var wg sync.WaitGroup
	for i, w := range wants {
		wg.Go(func() {
			out[i].dir = w.Dir
			out[i].Opened, errs[i] = d.client.Open(ctx, w)
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
	return nil, errors.Join(errs[first], d.client.CloseStreams(tidy, ids...))
}

// swap ends what is surplus and lets the new streams run. Where the far end does not say that the surplus has ended, the new
// ones are let go, and what is left of the load is what was to be kept.
func (d *Driver) swap(ctx context.Context, spec metric.Spec, p change, fresh []stream) error {
	ctx, cancel := context.WithTimeout(ctx, tidyTimeout)
	defer cancel()
	if err := d.client.CloseStreams(ctx, idsOf(p.surplus)...); err != nil {
		d.mu.Lock()
		d.streams = p.keep
		d.mu.Unlock()
		return errors.Join(fmt.Errorf("end streams: %w", err), d.client.CloseStreams(ctx, idsOf(fresh)...))
	}
	d.mu.Lock()
	d.spec, d.wanted = spec, true
	d.streams = slices.Concat(p.keep, fresh)
	slices.SortStableFunc(d.streams, byDirThenID)
	d.mu.Unlock()
	d.hooks.Begin()
	if len(fresh) == 0 {
		return nil
	}
	if err := d.client.Start(ctx); err != nil {
		return fmt.Errorf("start streams: %w", err)
	}
	return nil
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
