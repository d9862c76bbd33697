package flow

import (
	"sync"
	"sync/atomic"

	"github.com/ethtune/ethtune/engine/metric"
)

// tcp is the common part of TCP streams: a thread that turns the options of its socket itself, between two calls. Any other
// thread would wait for the socket, see [TCPSender].
type tcp struct {
	thread
	asking sync.Mutex // one errand at a time
	errand atomic.Pointer[errand]
}

// errand is something to be done by a stream's thread.
type errand struct {
	do   func(fd int) error
	done chan error
}

// serve does what was asked for, on the stream's own thread.
func (t *tcp) serve() {
	if e := t.errand.Load(); e != nil {
		t.errand.Store(nil)
		e.done <- e.do(t.fd)
	}
}

// Tune gives the running stream o's congestion control, TCP_NODELAY and type of service, and returns what the kernel then
// says. The rest of o is for new sockets.
func (t *tcp) Tune(o metric.Socket) (metric.GrantedSocket, error) {
	var g metric.GrantedSocket
	err := t.ask(func(fd int) error {
		err := retuneTCP(fd, o)
		if err == nil {
			g, err = Granted(fd, metric.TCP)
		}
		return err
	})
	return g, err
}

// ask has f done by the stream's thread; where there is none, by the caller.
func (t *tcp) ask(f func(fd int) error) error {
	t.asking.Lock()
	defer t.asking.Unlock()
	if !t.running() {
		return t.use(f)
	}
	e := &errand{do: f, done: make(chan error, 1)}
	t.errand.Store(e)
	select {
	case err := <-e.done:
		return err
	case <-t.done:
	}
	t.errand.Store(nil)
	select {
	case err := <-e.done: // it was the last thing done
		return err
	default:
		return t.use(f)
	}
}
