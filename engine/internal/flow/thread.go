package flow

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// errClosed is the answer of a stream whose socket is closed.
var errClosed = errors.New("stream is closed")

// thread is the common part of every stream: a socket that it owns and the loop that keeps it busy.
type thread struct {
	fd   int
	loop func() error
	stop atomic.Bool
	done chan struct{}
	err  error // the loop's; good once done is closed
	place

	mu      sync.Mutex // guards what follows, and fd against use after close
	started bool
	closed  bool
}

// own takes over fd.
func (t *thread) own(fd int, cpus string, loop func() error) {
	t.fd, t.loop, t.done = fd, loop, make(chan struct{})
	_ = t.Place(cpus) // there is no thread yet that could refuse
}

// Start lets the traffic run. It may be called once; after Close it does nothing.
func (t *thread) Start() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.started || t.closed || t.stop.Load() {
		return
	}
	t.started = true
	crew.join()
	go func() {
		defer close(t.done)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		m := crew.enter()
		defer crew.leave(m)
		defer t.depart()
		if t.err = t.arrive(); t.err == nil {
			t.err = t.loop()
		}
	}()
}

// Done is closed when the traffic has ended: by Close, by the peer, or by an error that Err then returns.
func (t *thread) Done() <-chan struct{} { return t.done }

// Err is why the traffic ended by itself; nil while it runs and after an orderly end.
func (t *thread) Err() error {
	select {
	case <-t.done:
		return t.err
	default:
		return nil
	}
}

// running reports whether the loop is there to be asked.
func (t *thread) running() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-t.done:
		return false
	default:
		return t.started
	}
}

// Tune gives the running stream o's type of service, and returns what the kernel then says. The rest of o is for new
// sockets.
func (t *thread) Tune(o metric.Socket) (metric.GrantedSocket, error) {
	var g metric.GrantedSocket
	err := t.use(func(fd int) error {
		err := setTOS(fd, o.TOS)
		if err == nil {
			g, err = Granted(fd, metric.UDP)
		}
		return err
	})
	return g, err
}

// use calls f with the socket, unless it is closed.
func (t *thread) use(f func(fd int) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errClosed
	}
	return f(t.fd)
}

// halt ends the loop and waits for it; the socket stays open to be asked for its last numbers. Nothing wakes a blocked
// thread: each call of it is bounded by [turn], and shutdown(2) would wait for the socket as any other call does.
func (t *thread) halt() {
	t.stop.Store(true)
	t.mu.Lock()
	started := t.started
	t.mu.Unlock()
	if started {
		<-t.done
	}
}

// Close ends the traffic and closes the socket. It may be called more than once and by any goroutine.
func (t *thread) Close() error {
	t.halt()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil
	}
	t.closed = true
	return unix.Close(t.fd)
}
