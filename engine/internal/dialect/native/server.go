package native

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
)

// Server answers the native dialect on one TCP and UDP port.
type Server struct {
	house *dialect.House
	addr  net.Addr // of both
	tcp   *listeners
	udp   *net.UDPConn
	porch dialect.Porch

	mu       sync.Mutex
	sessions map[token]*session
	closed   bool
	wg       sync.WaitGroup
}

// Listen serves the guests of house on addr, host:port with a literal address, until Close. Port 0 is any free one.
func Listen(addr string, house *dialect.House) (*Server, error) {
	s := &Server{house: house, sessions: make(map[token]*session)}
	if err := dialect.BindTwins(addr, s.bind); err != nil {
		return nil, err
	}
	s.receive(s.tcp.newest[0])
	s.wg.Go(s.greet)
	return s, nil
}

func (s *Server) bind(host, addr string) error {
	tcp, err := listenOn(addr)
	if err != nil {
		return err
	}
	a := tcp.addr()
	u, err := shared.ListenPacket(context.Background(), "udp", net.JoinHostPort(host, strconv.Itoa(a.Port)))
	if err != nil {
		_ = tcp.close()
		return err
	}
	s.addr, s.tcp, s.udp = a, tcp, u.(*net.UDPConn)
	return nil
}

// renew has new sockets listen, unless gone is closed before there is room for them.
func (s *Server) renew(gone <-chan struct{}) error { return s.tcp.renew(gone, s.receive) }

// receive takes the connections of l until it is closed.
func (s *Server) receive(l *net.TCPListener) {
	s.wg.Go(func() { s.porch.Receive(l, s.welcome) })
}

// Addr is the address that is served.
func (s *Server) Addr() string { return s.addr.String() }

// Close ends every session and waits for all that was started.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	for _, ss := range s.sessions {
		ss.over(errStopped.Error())
	}
	err := errors.Join(s.tcp.close(), s.udp.Close())
	s.mu.Unlock()
	s.porch.Close()
	s.porch.Wait()
	s.wg.Wait()
	return err
}

// welcome finds out what a new connection is, and serves it.
func (s *Server) welcome(c *net.TCPConn, _ int) {
	var ss *session
	first := make([]byte, 1)
	if _, err := io.ReadFull(c, first); err == nil {
		if first[0] != '{' {
			s.load(c, first)
			return
		}
		ss = s.admit(c, first)
	}
	s.porch.Pass(c)
	defer c.Close()
	if ss == nil {
		return
	}
	ss.guest.Leave(ss.serve())
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, ss.token)
}

// load hands a load connection to its session.
func (s *Server) load(c *net.TCPConn, first []byte) {
	b := make([]byte, preambleSize)
	copy(b, first)
	if _, err := io.ReadFull(c, b[1:]); err != nil {
		_ = c.Close()
		return
	}
	p, ok := parsePreamble(b)
	ss := s.session(p.token)
	if !ok || ss == nil {
		_ = c.Close()
		return
	}
	fd, err := flow.Detach(c)
	if err != nil {
		return // the near end's join runs out and says so
	}
	ss.arrive(p.id, arrival{fd: fd})
}

// admit makes a session of a control connection that says hello properly.
func (s *Server) admit(c *net.TCPConn, first []byte) *session {
	ctl := newControl(c, bufio.NewReader(io.MultiReader(bytes.NewReader(first), c)), greetTimeout)
	l, err := ctl.receive()
	if err != nil {
		return nil
	}
	if err := l.checkHello(); err != nil {
		// It may only want to know. Our own hello tells the other end what we are, and it words the mismatch itself.
		_ = ctl.send(&line{Type: typeHello, Proto: dialectName, V: Version})
		return nil
	}
	ss := newSession(ctl, s.house.Rules.RateBps)
	ss.renew = s.renew
	ss.proof, err = prove(ctl, l, s.house.Rules.Key)
	if err == nil {
		err = s.house.Enter(ss.guest)
	}
	if err != nil {
		_ = ctl.send(&line{Type: typeRefused, Error: err.Error()})
		return nil
	}
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.sessions[ss.token] = ss
	}
	s.mu.Unlock()
	if closed {
		ss.guest.Leave("the server ended")
		return nil
	}
	return ss
}

func (s *Server) session(t token) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[t]
}

// greet takes the first datagrams of UDP streams. It never answers one.
func (s *Server) greet() {
	b := make([]byte, 2*preambleSize)
	for {
		n, from, err := s.udp.ReadFromUDPAddrPort(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		p, ok := parsePreamble(b[:n])
		if !ok {
			continue
		}
		peer := netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		if ss := s.session(p.token); ss != nil && ss.proven(peer.Addr()) {
			ss.arrive(p.id, arrival{fd: -1, peer: peer})
		}
	}
}
