package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

const (
	// pressQueue is how many lines may wait for a slow reader before the run waits too, and then loses Frames.
	pressQueue = 256
	// stuckAfter is how long standard output may take nothing before the load stops: nobody sees what it does any more.
	stuckAfter = 5 * time.Second
	// lastWords is how long the rest may take once the run is over.
	lastWords = time.Second
)

// press prints beside the run, so that a reader that has stopped holds neither a signal nor what is put back.
type press struct {
	lines   chan func() error
	over    chan struct{} // closed when it prints no more
	err     error         // why, good once over is closed
	writing atomic.Int64  // since when (Unix ns) it has been in one write; 0 = it waits for a line
}

// newPress starts a press. It is ended by finish.
func newPress() *press {
	p := &press{lines: make(chan func() error, pressQueue), over: make(chan struct{})}
	go func() {
		defer close(p.over)
		for line := range p.lines {
			p.writing.Store(time.Now().UnixNano())
			p.err = line()
			p.writing.Store(0)
			if p.err != nil {
				return
			}
		}
	}()
	return p
}

// print queues a line. The error is that of an earlier one, or the context's.
func (p *press) print(ctx context.Context, line func() error) error {
	select {
	case <-p.over:
		return p.err
	default:
	}
	select {
	case p.lines <- line:
		return nil
	case <-p.over:
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// errMute is a reader that took nothing to the end.
var errMute = errors.New("standard output takes nothing; its last lines are lost")

// finish prints what is queued and ends the press. It must be called once.
func (p *press) finish() error {
	close(p.lines)
	select {
	case <-p.over:
		return p.err
	case <-time.After(lastWords):
		return errMute
	}
}

// stuck says whether one write has lasted for long enough to call the reader gone.
func (p *press) stuck() bool {
	since := p.writing.Load()
	return since != 0 && time.Since(time.Unix(0, since)) > stuckAfter
}

// watch tells when the reader stops taking lines, and when it goes on.
func (p *press) watch(ctx context.Context, tell func(stuck bool)) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	told := false
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if now := p.stuck(); now != told {
			told = now
			tell(now)
		}
	}
}
