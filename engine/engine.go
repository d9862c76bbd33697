package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/metric"
)

// errClosed is what an Engine answers after Close.
var errClosed = errors.New("engine is closed")

// ErrDismissed is why an Engine ended whose server did not want it any longer.
var ErrDismissed = dialect.ErrDismissed

// Whose fault an error of Drive is: the dialect has no words for what was asked, or the peer did not answer, refused, or is
// busy.
var (
	ErrCannot = dialect.ErrCannot
	ErrPeer   = dialect.ErrPeer
)

// Engine is the near end of traffic with one peer. Its methods may be called by any goroutine.
type Engine struct {
	addr    string
	options Options
	session dialect.Session
	feed    *metric.Feed
	quit    chan struct{}
	done    chan struct{}

	aim sync.Mutex // one re-aim at a time

	mu       sync.Mutex    // guards what follows
	before   dialect.State // of the Engine whose place this one has taken; once the peer is lost, of this one
	started  time.Time     // when traffic first flowed, of the first Engine; zero before
	flowing  bool          // traffic of this one has begun
	err      error
	closed   bool
	measures measures
}

// Options is how an Engine reaches its peer. The zero Options find out what it speaks.
type Options struct {
	Dialect string        // native, iperf3 or iperf2; empty = what the peer answers
	Bind    netip.Addr    // local address of every socket; the zero Addr leaves it to the kernel
	Key     []byte        // secret shared with a native server; empty = none
	Device  string        // the interface that carries the traffic, whose counters stand beside it; empty = not known
	Proto   metric.Proto  // of the load that will be driven first; an iperf2 server has one alone
	Timeout time.Duration // of a connection; 0 = [connectTimeout]
}

// Dial connects to the peer at addr, host:port. No traffic flows until Drive. Frames and notes are put into feed, which
// stays the caller's.
func Dial(ctx context.Context, addr string, o Options, feed *metric.Feed) (*Engine, error) {
	return connect(ctx, &Engine{addr: addr, options: o, feed: feed})
}

// Redial takes up, for an Engine that has lost its peer, with the same peer anew: it returns an Engine whose time and Spec
// go on where e's ended, and closes e. Traffic flows again after Drive, or after Reopen if it flowed before. On an error e
// is as it was.
func (e *Engine) Redial(ctx context.Context) (*Engine, error) {
	if e.Err() == nil {
		return nil, errors.New("redial: the peer is not lost")
	}
	e.mu.Lock()
	next := &Engine{addr: e.addr, options: e.options, feed: e.feed, before: e.stateLocked(), started: e.started}
	e.mu.Unlock()
	next.options.Dialect = e.session.Name()
	if _, err := connect(ctx, next); err != nil {
		return nil, err
	}
	_ = e.Close() // it held nothing that could still fail
	return next, nil
}

// connect gives e its session and lets it sample.
func connect(ctx context.Context, e *Engine) (*Engine, error) {
	s, err := open(ctx, e.addr, e.options, dialect.Hooks{Begin: e.begin, Note: e.note})
	if err != nil {
		return nil, err
	}
	e.session, e.quit, e.done = s, make(chan struct{}), make(chan struct{})
	go e.run()
	return e, nil
}

// Spec is the traffic that was last granted.
func (e *Engine) Spec() metric.Spec { return e.state().Spec }

// state is the load's, also where it is still that of the Engine before.
func (e *Engine) state() dialect.State {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stateLocked()
}

func (e *Engine) stateLocked() dialect.State {
	if e.err == nil {
		if s := e.session.State(); s.Spec.Proto != "" {
			return s
		}
	}
	return dialect.State{Spec: e.before.Spec, Wanted: e.before.Wanted}
}

// Granted is what the kernels of both ends gave the first stream; empty while there is no load.
func (e *Engine) Granted() metric.Granted { return e.session.Granted() }

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
	err := e.session.Close() // first, so that a re-aim that is waiting for the peer gives up
	e.aim.Lock()
	defer e.aim.Unlock()
	e.mu.Lock()
	e.session.Halt() // what a re-aim still opened
	e.mu.Unlock()
	e.measures.close() // last, since it may wait for the kernel
	return err
}

// note tells the feed what happened to the traffic.
func (e *Engine) note(format string, args ...any) {
	e.feed.Put(&metric.Note{T: e.Now(), Time: time.Now(), Text: fmt.Sprintf(format, args...)})
}
