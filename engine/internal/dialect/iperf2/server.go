package iperf2

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/dialect"
)

// Server answers iperf 2 clients on one TCP and UDP port.
type Server struct {
	house *dialect.House
	tcp   *net.TCPListener
	udp   *net.UDPConn
	porch dialect.Porch

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	peers map[netip.AddrPort]*udpGuest
}

// Listen serves on addr, host:port with a literal address, until Close. Port 0 is any free one. Guests are house's.
func Listen(addr string, house *dialect.House) (*Server, error) {
	s := &Server{house: house, peers: make(map[netip.AddrPort]*udpGuest)}
	if err := dialect.BindTwins(addr, s.bind); err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.wg.Go(func() { s.porch.Receive(s.tcp, s.welcome) })
	s.wg.Go(s.listen)
	return s, nil
}

// keepAlive finds a client whose cable was pulled.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 4}

func (s *Server) bind(host, addr string) error {
	t, err := dialect.ListenTCP(net.ListenConfig{KeepAliveConfig: keepAlive}, addr)
	if err != nil {
		return err
	}
	port := strconv.Itoa(t.Addr().(*net.TCPAddr).Port)
	u, err := (&net.ListenConfig{Control: prepareUDP}).ListenPacket(context.Background(), "udp", net.JoinHostPort(host, port))
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
	s.tcp, s.udp = t, u.(*net.UDPConn)
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
	return dialect.SharePort(raw)
}

// Addr is the address that is served.
func (s *Server) Addr() string { return s.tcp.Addr().String() }

// Close ends every guest and waits for all that was started. It may be called twice.
func (s *Server) Close() error {
	s.cancel()
	err := errors.Join(s.tcp.Close(), s.udp.Close())
	s.porch.Close()
	s.porch.Wait()
	s.wg.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// welcome hears what a new connection wants, and serves it.
func (s *Server) welcome(c *net.TCPConn, _ int) {
	h, err := peekHeader(c)
	s.porch.Pass(c)
	if err != nil {
		_ = c.Close()
		return
	}
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
