package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
)

// asksAtOnce bounds how many asks are being worked on; the next waits to be read.
const asksAtOnce = 16

// Serve answers for r on a stream until the stream ends, is silent for five seconds, or ctx is done. Whatever the
// reason, r is closed, which undoes, before it returns. A stream that ends is no error.
func Serve(ctx context.Context, in io.Reader, out io.Writer, r rig.Rig) error {
	defer r.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	facts, err := r.Describe(ctx)
	if err != nil {
		return Fatal(out, err)
	}
	w := &lineWriter{w: out}
	if err := w.write(hello{Protocol: Protocol, Version: facts.Version, Facts: facts}); err != nil {
		return err
	}
	reader := r.Watch("stream") // before the first ask, so that nothing of what it sets going is missed
	defer reader.Close()
	heard := make(chan struct{}, 1)
	go func() { cancel(listen(ctx, in, w, r, heard)) }()
	go func() { cancel(forward(ctx, w, reader)) }()
	go keepBeating(ctx, w) // beside the watch: a reader that has stopped must not keep us from seeing its silence
	return untilSilent(ctx, heard)
}

// Fatal tells the front end why there is no Rig, and returns the same.
func Fatal(out io.Writer, err error) error {
	w := &lineWriter{w: out}
	return errors.Join(err, w.write(*failureOf(err)))
}

// keepBeating says each second that this side is there, until the stream takes no more.
func keepBeating(ctx context.Context, w *lineWriter) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if w.write(beat{}) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// untilSilent watches for the other side's lines. It returns when the stream is over: nil if that was meant.
func untilSilent(ctx context.Context, heard <-chan struct{}) error {
	quiet := time.NewTimer(silence)
	defer quiet.Stop()
	for {
		select {
		case <-heard:
			quiet.Reset(silence)
		case <-quiet.C:
			return fmt.Errorf("%w: nothing heard for %v", rig.ErrLost, silence)
		case <-ctx.Done():
			if err := context.Cause(ctx); !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		}
	}
}

// listen reads asks until the stream ends.
func listen(ctx context.Context, in io.Reader, w *lineWriter, r rig.Rig, heard chan<- struct{}) error {
	lines := metric.NewLineReader(in)
	slots := make(chan struct{}, asksAtOnce)
	for {
		typ, line, err := lines.Next()
		if err != nil {
			return err
		}
		select {
		case heard <- struct{}{}:
		default:
		}
		if typ != "ask" {
			continue
		}
		var a ask
		if err := json.Unmarshal(line, &a); err != nil {
			return fmt.Errorf("%w: ask: %w", metric.ErrLine, err)
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		go func() {
			defer func() { <-slots }()
			res, err := do(ctx, r, a)
			out := answer{ID: a.ID, Error: failureOf(err)}
			if res != nil {
				if out.Result, err = json.Marshal(res); err != nil {
					out.Error = failureOf(err)
				}
			}
			w.write(out) // an error here is the stream's end, which the reader sees
		}()
	}
}

// do calls the method that a names.
func do(ctx context.Context, r rig.Rig, a ask) (any, error) {
	switch a.Method {
	case methodDrive:
		var load rig.Load
		if err := json.Unmarshal(a.Args, &load); err != nil {
			return nil, fmt.Errorf("%w: drive: %w", rig.ErrInput, err)
		}
		return r.Drive(ctx, load)
	case methodRead:
		return r.Read(ctx)
	case methodApply:
		var plan knob.Plan
		if err := json.Unmarshal(a.Args, &plan); err != nil {
			return nil, fmt.Errorf("%w: apply: %w", rig.ErrInput, err)
		}
		return r.Apply(ctx, plan)
	case methodKeep:
		var knobs []string
		if err := json.Unmarshal(a.Args, &knobs); err != nil {
			return nil, fmt.Errorf("%w: keep: %w", rig.ErrInput, err)
		}
		return struct{}{}, r.Keep(ctx, knobs)
	case methodUndo:
		return r.Undo(ctx)
	}
	return nil, fmt.Errorf("%w: no method %q", rig.ErrInput, a.Method)
}

// forward writes what is measured.
func forward(ctx context.Context, w *lineWriter, reader *metric.Reader) error {
	for {
		rec, err := reader.Next(ctx)
		if err != nil {
			return err
		}
		if err := w.write(rec); err != nil {
			return err
		}
	}
}
