package native

import (
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
)

const (
	// retireAfter is how long a listener that has a successor still takes what had begun with it: a handshake that the kernel
	// has to help along is sent again after 1 s (TCP_TIMEOUT_INIT), and meets the successor then.
	retireAfter = time.Second
	// maxRetiring bounds the listeners of one server that have a successor.
	maxRetiring = 16
)

// errStopped is why a session ends, or is not answered, whose server does; errOver is why a request is not whose session does.
var (
	errStopped = errors.New("the server was stopped")
	errOver    = errors.New("the session ended")
)

// listeners are the sockets that listen on one TCP port. The newest is given what begins; the others are retiring. One that was
// closed at once would reset the connections in its queue, and they may be of other sessions than the one that asked.
type listeners struct {
	room chan struct{} // a place for each that has a successor
	done chan struct{} // closed with them

	mu     sync.Mutex
	all    []*net.TCPListener // in the kernel's order, by which steer names one
	newest *net.TCPListener
	closed bool
}

// share lets several sockets of this process have one port: streams have their own on it, and a listener its successor.
func share(c syscall.RawConn) error {
	var opt error
	err := c.Control(func(fd uintptr) { opt = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
	return errors.Join(err, opt)
}

// unpaced makes listeners whose connections the kernel does not pace yet.
var unpaced = net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { flow.BeginUnpaced(int(fd)) })
}}

// shared makes sockets that share their port from the beginning. Nothing of UDP is paced.
var shared = net.ListenConfig{Control: func(network, addr string, c syscall.RawConn) error {
	return errors.Join(share(c), unpaced.Control(network, addr, c))
}}

// listenOn listens on addr. The first listener shares the port only once it has it, so that a second server is told that the
// port is taken.
func listenOn(addr string) (*listeners, error) {
	first, err := dialect.ListenTCP(unpaced, addr)
	if err != nil {
		return nil, err
	}
	raw, err := first.SyscallConn()
	if err == nil {
		err = share(raw)
	}
	if err != nil {
		_ = first.Close()
		return nil, err
	}
	return &listeners{
		room:   make(chan struct{}, maxRetiring),
		done:   make(chan struct{}),
		all:    []*net.TCPListener{first},
		newest: first,
	}, nil
}

// renew makes a new listener, which begin is given, and sends it what begins from now on. A connection begins with the
// buffers of the listener that took it, and those are as old as the listener: this is how a change of tcp_rmem reaches the
// next stream. Where many are retiring it waits for one of them, until gone is closed: who asked has left then.
func (ls *listeners) renew(gone <-chan struct{}, begin func(*net.TCPListener)) error {
	select {
	case ls.room <- struct{}{}:
	case <-gone:
		return errOver
	case <-ls.done:
		return errStopped
	}
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.closed {
		return errStopped
	}
	fresh, err := dialect.ListenTCP(shared, ls.newest.Addr().String())
	if err != nil {
		<-ls.room
		return err
	}
	old := ls.newest
	ls.newest = fresh
	ls.all = append(ls.all, fresh)
	begin(fresh)
	if ls.steer() != nil {
		ls.drop(old) // it would be given its share of what begins
		return nil
	}
	time.AfterFunc(retireAfter, func() { ls.retire(old) })
	return nil
}

// steer has the kernel give what begins to the newest listener, instead of one by the hash of its addresses. The program of
// SO_ATTACH_REUSEPORT_CBPF (of TCP since Linux 4.6) returns a place in the kernel's list; the caller holds mu.
func (ls *listeners) steer() error {
	raw, err := ls.newest.SyscallConn()
	if err != nil {
		return err
	}
	code := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: uint32(slices.Index(ls.all, ls.newest))}}
	var opt error
	err = raw.Control(func(fd uintptr) {
		opt = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF,
			&unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]})
	})
	return errors.Join(err, opt)
}

// retire closes l, which has a successor. It may be called twice.
func (ls *listeners) retire(l *net.TCPListener) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.closed || !slices.Contains(ls.all, l) {
		return
	}
	ls.drop(l)
	// Until this is done the place may be nobody's, and the kernel goes by the hash: whoever is given it takes it.
	_ = ls.steer()
}

// drop closes l and frees its place, into which the kernel moves the last of its list (net/core/sock_reuseport.c,
// __reuseport_detach_sock). The caller holds mu.
func (ls *listeners) drop(l *net.TCPListener) {
	i, last := slices.Index(ls.all, l), len(ls.all)-1
	ls.all[i] = ls.all[last]
	ls.all = ls.all[:last]
	_ = l.Close()
	<-ls.room
}

// close closes them all.
func (ls *listeners) close() error {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.closed {
		return nil
	}
	ls.closed = true
	close(ls.done)
	var errs []error
	for _, l := range ls.all {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}
