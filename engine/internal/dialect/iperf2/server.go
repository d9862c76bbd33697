package iperf2

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/dialect"
)

const (
	// portTries is how often a free TCP port is looked for whose UDP twin is free as well.
	portTries = 16
	// maxGreeting bounds the connections that have not said what they want.
	maxGreeting = 256
	// greetTimeout bounds how long they take.
	greetTimeout = 5 * time.Second
)

// Server answers iperf 2 clients on one TCP and UDP port.
type Server struct {
	house *dialect.House
	tcp   *net.TCPListener
	udp   *net.UDPConn

	ctx      context.Context // ends with Close
	cancel   context.CancelFunc
	wg       sync.WaitGroup
	greeting chan struct{} // a place for each connection that has not said what it wants

	mu    sync.Mutex
	peers map[netip.AddrPort]*udpGuest
}

// Listen serves on addr, host:port with a literal address, until Close. Port 0 is any free one. Guests are house's.
func Listen(addr string, house *dialect.House) (*Server, error) {
	s := &Server{house: house, greeting: make(chan struct{}, maxGreeting), peers: make(map[netip.AddrPort]*udpGuest)}
	var err error
	for range portTries {
		if err = s.bind(addr); err == nil || !errors.Is(err, unix.EADDRINUSE) || !anyPort(addr) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.wg.Go(s.accept)
	s.wg.Go(s.listen)
	return s, nil
}

func anyPort(addr string) bool {
	_, port, err := net.SplitHostPort(addr)
	return err == nil && (port == "0" || port == "")
}

// keepAlive finds a client whose cable was pulled.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 4}

func (s *Server) bind(addr string) error {
	ctx := context.Background()
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	t, err := (&net.ListenConfig{KeepAliveConfig: keepAlive}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	port := strconv.Itoa(t.Addr().(*net.TCPAddr).Port)
	u, err := (&net.ListenConfig{Control: prepareUDP}).ListenPacket(ctx, "udp", net.JoinHostPort(host, port))
	if err == nil {
		// The port is shared only once it is had, so that a second server is told that it is taken.
		err = shareUDP(u.(*net.UDPConn))
		if err != nil {
			_ = u.Close()
		}
	}
	if err != nil {
		_ = t.Close()
		return err
	}
	s.tcp, s.udp = t.(*net.TCPListener), u.(*net.UDPConn)
	return nil
}

// prepareUDP has each datagram come with the address it was sent to: a stream of many addresses' host answers from it.
func prepareUDP(network, _ string, c syscall.RawConn) error {
	var opt error
	err := c.Control(func(fd uintptr) {
		if network == "udp4" {
			opt = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
			return
		}
		opt = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
	})
	return errors.Join(err, opt)
}

// shareUDP lets each stream have a socket of its own on the port.
func shareUDP(u *net.UDPConn) error {
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	var opt error
	err = raw.Control(func(fd uintptr) { opt = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
	return errors.Join(err, opt)
}

// Addr is the address that is served.
func (s *Server) Addr() string { return s.tcp.Addr().String() }

// Close ends every guest and waits for all that was started. It may be called twice.
func (s *Server) Close() error {
	s.cancel()
	err := errors.Join(s.tcp.Close(), s.udp.Close())
	s.wg.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (s *Server) accept() {
	for {
		c, err := s.tcp.AcceptTCP()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			// Out of descriptors or memory for the moment; accept fails at once until that passes.
			select {
			case <-s.ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		select {
		case s.greeting <- struct{}{}:
			s.wg.Go(func() { s.welcome(c) })
		default:
			_ = c.Close()
		}
	}
}

// welcome hears what a new connection wants, and serves it.
func (s *Server) welcome(c *net.TCPConn) {
	defer context.AfterFunc(s.ctx, func() { _ = c.Close() })()
	_ = c.SetReadDeadline(time.Now().Add(greetTimeout))
	h, err := peekHeader(c)
	<-s.greeting
	if err != nil {
		_ = c.Close()
		return
	}
	_ = c.SetReadDeadline(time.Time{})
	s.serveTCP(c, h)
}

// peekHeader reads what a client wants and leaves it there: it counts as payload.
func peekHeader(c *net.TCPConn) (header, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return header{}, err
	}
	b := make([]byte, lenMask>>1)
	want, n := 4, 0
	var opErr error
	err = raw.Read(func(fd uintptr) bool {
		for {
			var op error
			n, _, op = unix.Recvfrom(int(fd), b, unix.MSG_PEEK|unix.MSG_DONTWAIT)
			switch {
			case op == unix.EINTR:
				continue
			case op == unix.EAGAIN:
				return false
			case op != nil || n == 0:
				opErr = op
				return true
			}
			if n >= 4 {
				want = max(4, headerLen(uint32(b[0])<<24|uint32(b[1])<<16|uint32(b[2])<<8|uint32(b[3]), false))
			}
			return n >= want
		}
	})
	switch {
	case err != nil && n < 4:
		return header{}, err
	case opErr != nil:
		return header{}, opErr
	case n < 4:
		return header{}, errors.New("it said nothing")
	}
	// Half a header is none: whoever sends no more than that is received like anyone else.
	return parseHeader(b[:n], false), nil
}
