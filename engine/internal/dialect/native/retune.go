package native

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ethtune/ethtune/engine/metric"
)

// retune gives the running streams what they can take of spec: rate, calls and socket options. Where an end refuses any of
// it the old ones are put back, and nothing has changed.
func (d *Driver) retune(ctx context.Context, spec metric.Spec) error {
	d.mu.Lock()
	old, streams := d.spec, d.streams
	d.mu.Unlock()
	if len(streams) == 0 || !fits(old, streams, spec) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTimeout)
	defer cancel()
	if old.RateBps != spec.RateBps || old.NearCalls != spec.NearCalls || old.FarCalls != spec.FarCalls {
		if err := d.client.Aim(ctx, spec.RateBps, spec.NearCalls, spec.FarCalls); err != nil {
			return errors.Join(fmt.Errorf("re-aim: %w", err), d.client.Aim(ctx, old.RateBps, old.NearCalls, old.FarCalls))
		}
	}
	if old.Near != spec.Near || old.Far != spec.Far {
		near, far, err := d.client.Tune(ctx, spec.Near, spec.Far)
		if err != nil {
			back := old
			back.Near.Congestion = cmp.Or(old.Near.Congestion, streams[0].Near.Congestion)
			back.Far.Congestion = cmp.Or(old.Far.Congestion, streams[0].Far.Congestion)
			_, _, undo := d.client.Tune(ctx, back.Near, back.Far)
			return errors.Join(fmt.Errorf("re-tune: %w", err), undo, d.client.Aim(ctx, old.RateBps, old.NearCalls, old.FarCalls))
		}
		d.granted(near, far)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spec.RateBps, d.spec.Near, d.spec.Far = spec.RateBps, spec.Near, spec.Far
	d.spec.NearCalls, d.spec.FarCalls = spec.NearCalls, spec.FarCalls
	return nil
}

// granted keeps what the kernels say of the streams' sockets, by the stream's id.
func (d *Driver) granted(near, far map[uint32]metric.GrantedSocket) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range d.streams {
		s := &d.streams[i]
		if g, ok := near[s.ID]; ok {
			s.Near = g
		}
		if g, ok := far[s.ID]; ok {
			s.Far = g
		}
	}
}
