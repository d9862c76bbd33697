package engine

import (
	"context"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
)

// Drive starts traffic, or re-aims the running one. What the dialect can change in place goes on without an interruption;
// on an error the old load goes on where it can.
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
	s := e.state()
	if !s.Wanted {
		if s.Spec.Proto != "" { // there was load once
			e.begin()
			e.session.Echo(ctx, s.Spec.Probe)
		}
		return e.Granted(), nil
	}
	return e.drive(ctx, s.Spec, true)
}

// drive is Drive for one who holds aim. With fresh nothing of the old load is kept.
func (e *Engine) drive(ctx context.Context, spec metric.Spec, fresh bool) (metric.Granted, error) {
	if err := e.alive(); err != nil {
		return metric.Granted{}, err
	}
	err := e.session.Drive(ctx, spec, fresh)
	return e.Granted(), err
}

// Pause ends the load. The probe stays. Where the peer is lost there is no load, and none after [Engine.Redial].
func (e *Engine) Pause(ctx context.Context) error {
	e.aim.Lock()
	defer e.aim.Unlock()
	e.mu.Lock()
	closed := e.closed
	e.before.Wanted = false
	e.mu.Unlock()
	if closed {
		return errClosed
	}
	return e.session.Pause(ctx)
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

// begin lets the measurement begin, once.
func (e *Engine) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.flowing {
		e.flowing = true
		e.measures.begin(e.options.Device)
	}
	if e.started.IsZero() {
		e.started = time.Now()
	}
}
