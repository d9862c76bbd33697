package iperf3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
)

const (
	// greeting bounds how long a connection may take to say its cookie, and a client its parameters.
	greeting = 5 * time.Second
	// maxGreeting bounds the connections that have not said what they are and what they want. Where there are more the
	// oldest goes: a client that means it is through within two round trips.
	maxGreeting = 256
	// maxThreads bounds the streams of all sessions, each of which has a thread and a buffer.
	maxThreads = 512
	// portTries is how often a free TCP port is looked for whose UDP twin is free as well.
	portTries = 16
)

// keepAlive ends, at either end and within 10 s, a session whose peer is gone without a word: a control connection is
// silent while the test runs.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 4 * time.Second, Interval: 2 * time.Second, Count: 3}

// Server answers iperf3 clients on one TCP and UDP port, as many at once as its house lets in.
type Server struct {
	house *dialect.House
	addr  net.Addr // of both
	tcp   net.Listener
	udp   *net.UDPConn

	mu       sync.Mutex
	greeting map[net.Conn]int          // by the order in which they came
	arriving map[cookie]*session       // TCP: those whose streams are awaited
	queues   map[netip.Addr][]*session // UDP: those that await theirs, by the client's address
	sessions map[*session]struct{}
	threads  int
	closed   bool
	wg       sync.WaitGroup
}

// Listen serves on addr, host:port with a literal address, until Close. Port 0 is any free one. Guests are received in
// house.
func Listen(addr string, house *dialect.House) (*Server, error) {
	s := &Server{
		house:    house,
		greeting: make(map[net.Conn]int),
		arriving: make(map[cookie]*session),
		queues:   make(map[netip.Addr][]*session),
		sessions: make(map[*session]struct{}),
	}
	var err error
	for range portTries {
		if err = s.bind(addr); err == nil || !errors.Is(err, unix.EADDRINUSE) || !anyPort(addr) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	s.wg.Go(s.accept)
	s.wg.Go(s.hellos)
	return s, nil
}

func anyPort(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	return err == nil && (port == "0" || port == "")
}

// bind opens both sockets. The one of UDP shares its port with the streams that are made of it.
func (s *Server) bind(addr string) error {
	lc := net.ListenConfig{KeepAliveConfig: keepAlive}
	lc.SetMultipathTCP(false)
	t, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		_ = t.Close()
		return err
	}
	share := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var opt error
		err := c.Control(func(fd uintptr) { opt = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
		return errors.Join(err, opt)
	}}
	port := strconv.Itoa(t.Addr().(*net.TCPAddr).Port)
	u, err := share.ListenPacket(context.Background(), "udp", net.JoinHostPort(host, port))
	if err != nil {
		_ = t.Close()
		return err
	}
	s.addr, s.tcp, s.udp = t.Addr(), t, u.(*net.UDPConn)
	return nil
}

// Addr is the address that is served.
func (s *Server) Addr() string { return s.addr.String() }

// Close ends every session as a server does that is interrupted, and waits for all that was started.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	for ss := range s.sessions {
		ss.kick("the server was stopped")
	}
	for c := range s.greeting {
		_ = c.Close()
	}
	err := errors.Join(s.tcp.Close(), s.udp.Close())
	s.mu.Unlock()
	s.wg.Wait()
	return err
}

// accept takes connections. Each has the number by which the streams of a session are put in order: their cookies are read
// all at once.
func (s *Server) accept() {
	for n := 0; ; n++ {
		c, err := s.tcp.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			// Out of descriptors or memory for the moment; accept fails at once until that passes.
			time.Sleep(50 * time.Millisecond)
			continue
		}
		conn := c.(*net.TCPConn)
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			_ = conn.Close()
			continue
		}
		if len(s.greeting) >= maxGreeting {
			s.evict()
		}
		s.greeting[conn] = n
		s.wg.Go(func() { s.welcome(conn, n) })
		s.mu.Unlock()
	}
}

// evict closes the connection that has greeted for longest. The caller holds mu.
func (s *Server) evict() {
	var oldest net.Conn
	for c, n := range s.greeting {
		if oldest == nil || n < s.greeting[oldest] {
			oldest = c
		}
	}
	_ = oldest.Close()
	delete(s.greeting, oldest)
}

// greeted takes conn out of those that have not said what they want.
func (s *Server) greeted(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.greeting, conn)
}

// welcome finds out what a new connection is: a stream of a session that waits for it, or a new session.
func (s *Server) welcome(conn *net.TCPConn, n int) {
	defer s.greeted(conn)
	var ck cookie
	_ = conn.SetReadDeadline(time.Now().Add(greeting))
	if _, err := io.ReadFull(conn, ck[:]); err != nil {
		_ = conn.Close()
		return
	}
	s.mu.Lock()
	owner := s.arriving[ck]
	s.mu.Unlock()
	if owner == nil {
		newSession(s, conn, ck).serve()
		return
	}
	fd, err := flow.Detach(conn)
	if err == nil && !owner.arrive(arrival{fd: fd, order: n}) {
		_ = unix.Close(fd)
	}
}

// seat takes n threads of those that there may be; false where that many are not left.
func (s *Server) seat(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.threads+n > maxThreads {
		return false
	}
	s.threads += n
	return true
}

// unseat gives them back.
func (s *Server) unseat(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.threads -= n
}
