package iperf3

import (
	"context"
	"errors"
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
	// greeting bounds how long a client may take to say its parameters, and to open the next of its streams.
	greeting = 5 * time.Second
	// maxThreads bounds the streams of all sessions, each of which has a thread and a buffer.
	maxThreads = 512
)

// keepAlive ends, at either end and within 10 s, a session whose peer is gone without a word: a control connection is
// silent while the test runs.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 4 * time.Second, Interval: 2 * time.Second, Count: 3}

// Server answers iperf3 clients on one TCP and UDP port, as many at once as its house lets in.
type Server struct {
	house *dialect.House
	addr  net.Addr // of both
	tcp   *net.TCPListener
	udp   *net.UDPConn
	porch dialect.Porch

	mu       sync.Mutex
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
		arriving: make(map[cookie]*session),
		queues:   make(map[netip.Addr][]*session),
		sessions: make(map[*session]struct{}),
	}
	if err := dialect.BindTwins(addr, s.bind); err != nil {
		return nil, err
	}
	s.wg.Go(func() { s.porch.Receive(s.tcp, s.welcome) })
	s.wg.Go(s.hellos)
	return s, nil
}

// bind opens both sockets. The one of UDP shares its port with the streams that are made of it.
func (s *Server) bind(host, addr string) error {
	t, err := dialect.ListenTCP(net.ListenConfig{KeepAliveConfig: keepAlive}, addr)
	if err != nil {
		return err
	}
	share := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error { return dialect.SharePort(c) }}
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
	err := errors.Join(s.tcp.Close(), s.udp.Close())
	s.mu.Unlock()
	s.porch.Close()
	s.porch.Wait()
	s.wg.Wait()
	return err
}

// welcome finds out what a new connection is: a stream of a session that waits for it, or a new session. The streams of a
// session are put in the order of n, since their cookies are read all at once.
func (s *Server) welcome(conn *net.TCPConn, n int) {
	var ck cookie
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
