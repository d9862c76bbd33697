package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect/native"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// dialect is what [metric.Granted] calls the native one.
const dialect = "native"

// errClosed is what an Engine answers after Close.
var errClosed = errors.New("engine is closed")

// Engine is the near end of traffic with one peer. Its methods may be called by any goroutine.
type Engine struct {
	addr   string
	dev    string // the interface that carries the traffic; empty where that is not known
	client *native.Client
	feed   *metric.Feed
	quit   chan struct{}
	done   chan struct{}

	aim sync.Mutex // one re-aim at a time

	mu       sync.Mutex // guards what follows
	spec     metric.Spec
	wanted   bool // load of spec was asked for, and not to pause
	streams  []stream
	probe    *flow.Probe
	probeID  uint32
	noProbe  int       // the probe rate that could not be had
	started  time.Time // when traffic first flowed, of the first Engine; zero before
	flowing  bool      // traffic of this one has begun
	err      error
	closed   bool
	measures measures
}

// stream is one load stream of the running Spec.
type stream struct {
	native.Opened
	dir metric.Dir
}

// Dial connects to the [Server] at addr, host:port. No traffic flows until Drive. The interface dev, which may be empty, is
// the one whose counters stand beside the traffic's. Frames and notes are put into feed, which stays the caller's.
func Dial(ctx context.Context, addr, dev string, feed *metric.Feed) (*Engine, error) {
	return connect(ctx, &Engine{addr: addr, dev: dev, feed: feed})
}

// Redial takes up, for an Engine that has lost its peer, with the same peer anew: it returns an Engine whose time and Spec
// go on where e's ended, and closes e. Traffic flows again after Drive, or after Reopen if it flowed before. On an error e
// is as it was.
func (e *Engine) Redial(ctx context.Context) (*Engine, error) {
	if e.Err() == nil {
		return nil, errors.New("redial: the peer is not lost")
	}
	e.mu.Lock()
	next := &Engine{addr: e.addr, dev: e.dev, feed: e.feed, spec: e.spec, wanted: e.wanted, started: e.started}
	e.mu.Unlock()
	if _, err := connect(ctx, next); err != nil {
		return nil, err
	}
	_ = e.Close() // it held nothing that could still fail
	next.note("the peer is back")
	return next, nil
}

// connect gives e its session and lets it sample.
func connect(ctx context.Context, e *Engine) (*Engine, error) {
	c, err := native.Dial(ctx, e.addr)
	if err != nil {
		return nil, err
	}
	e.client, e.quit, e.done = c, make(chan struct{}), make(chan struct{})
	go e.run()
	return e, nil
}

// Spec is the traffic that was last granted.
func (e *Engine) Spec() metric.Spec {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.spec
}

// Granted is what the kernels of both ends gave the first stream; empty while there is no load.
func (e *Engine) Granted() metric.Granted {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.granted()
}

func (e *Engine) granted() metric.Granted {
	g := metric.Granted{Dialect: dialect}
	if len(e.streams) > 0 {
		s := e.streams[0]
		g.Size, g.Near, g.Far = s.Size, s.Near, s.Far
	}
	return g
}

// Now is the monotonic time in seconds since traffic first flowed; 0 before.
func (e *Engine) Now() float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now()
}

func (e *Engine) now() float64 {
	if e.started.IsZero() {
		return 0
	}
	return time.Since(e.started).Seconds()
}

// Done is closed when the Engine has ended: by Close, or because the peer is gone, which Err then says.
func (e *Engine) Done() <-chan struct{} { return e.done }

// Err is why the Engine ended by itself; nil before and after Close.
func (e *Engine) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// Close ends the traffic and lets go of the peer. It may be called twice.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		<-e.done
		return nil
	}
	e.closed = true
	e.mu.Unlock()
	close(e.quit)
	<-e.done
	return e.release()
}

// release lets go of the session. It is called once, after the sampler ended.
func (e *Engine) release() error {
	err := e.client.Close() // first, so that a re-aim that is waiting for the peer gives up
	e.aim.Lock()
	defer e.aim.Unlock()
	e.mu.Lock()
	if e.probe != nil {
		err = errors.Join(err, e.probe.Close())
		e.probe = nil
	}
	e.streams = nil
	e.client.Load.Close()
	e.mu.Unlock()
	e.measures.close() // last, since it may wait for the kernel
	return err
}

// setProbe keeps p, or the rate at which none could be had.
func (e *Engine) setProbe(p *flow.Probe, id uint32, failed int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.probe, e.probeID, e.noProbe = p, id, failed
}

// note tells the feed what happened to the traffic.
func (e *Engine) note(format string, args ...any) {
	e.feed.Put(&metric.Note{T: e.Now(), Time: time.Now(), Text: fmt.Sprintf(format, args...)})
}
