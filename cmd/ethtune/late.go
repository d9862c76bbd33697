package main

import (
	"context"
	"errors"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/rig"
)

// lastWithin bounds the wait for what a stock server says at the end of a test.
const lastWithin = 3 * time.Second

// hearLast ends the load, upon which a stock UDP server says what arrived of its last test, and takes that into the totals.
// Where it does not say so the totals are without it. An error is that the peer is not there.
func (r *headlessRun) hearLast(ctx context.Context, reader *metric.Reader) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWithin)
	defer cancel()
	if err := r.bench.Pause(ctx); errors.Is(err, rig.ErrPeer) {
		return err
	} else if err != nil {
		return nil
	}
	// The Frame after the end has it, if none before.
	var rec metric.Record = r.late
	for ended := r.bench.Now(); ; {
		if f, ok := rec.(*metric.Frame); ok && f != nil && f.Dir == metric.Out {
			if m := r.totals[metric.Out]; m != nil {
				m.AddLate(f)
			}
			if f.T > ended {
				return nil
			}
		}
		var err error
		if rec, err = reader.Next(ctx); err != nil {
			return nil
		}
	}
}
