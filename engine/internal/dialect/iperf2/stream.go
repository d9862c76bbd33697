package iperf2

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// stream is one connection, or one pair of UDP ports, of the load. Its two directions have one id in the Ledger.
type stream struct {
	id      uint32
	fd      int // until a flow owns it
	base    uint64
	size    int
	granted metric.GrantedSocket
	wire    *wire // UDP
	out     sender
	in      flow.Receiver
	dead    bool // it ended by itself; guarded by the Client
}

// sender is a [flow.Sender] whose sending can be ended before it closes.
type sender interface {
	flow.Sender
	halt()
}

const (
	// firstFor bounds the wait for the first bytes of a server that was asked to send.
	firstFor = 3 * time.Second
	// firstAgain is when a UDP server is asked once more.
	firstAgain = 250 * time.Millisecond
	// maxRefused is how often in one wait a UDP port may be closed.
	maxRefused = 4
	// roomSize is what a UDP receiver has room for at least, whatever size was asked for.
	roomSize = 16 << 10
	// forever is what a server is told that shall send until the connection is closed: 248 days.
	forever = (1 << 31) * amountUnit
)

// errOld is the end of a wait for the first bytes.
var errOld = dialect.OfPeer(errors.New("it was asked to send and does not: -R and --full-duplex need iperf 2.1 or newer there"))

// open makes n streams of spec, idle, or none. The caller holds turn.
func (c *Client) open(ctx context.Context, spec metric.Spec, n int) ([]*stream, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout+firstFor)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	if wait := settle - time.Since(c.rested); spec.Proto == metric.UDP && wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	streams := make([]*stream, n)
	errs := make([]error, n)
	var seg *segment
	if spec.Proto == metric.UDP && spec.Mode == metric.ModeOut {
		seg = c.far.segment(n)
	}
	var wg sync.WaitGroup
	for i := range streams {
		wg.Go(func() { streams[i], errs[i] = c.openOne(ctx, spec, seg) })
		if spec.Proto == metric.UDP {
			wg.Wait() // one by one, see apart
		}
	}
	wg.Wait()
	if first := slices.IndexFunc(errs, func(err error) bool { return err != nil }); first >= 0 {
		for _, s := range streams {
			if s != nil {
				s.drop()
			}
		}
		return nil, fmt.Errorf("iperf server %s: %w", c.name, errs[first])
	}
	return streams, nil
}

func (c *Client) openOne(ctx context.Context, spec metric.Spec, seg *segment) (*stream, error) {
	c.mu.Lock()
	c.lastID++
	s := &stream{id: c.lastID, fd: -1, size: spec.Size}
	c.mu.Unlock()
	err := c.connect(ctx, s, spec)
	if err == nil {
		s.granted, err = flow.Granted(s.fd, spec.Proto)
	}
	if err == nil {
		err = s.greet(ctx, spec, c.segment(spec.Mode)+overlap)
	}
	if err == nil {
		err = s.equip(spec, seg)
	}
	if err != nil {
		s.drop()
		return nil, err
	}
	return s, nil
}

// drop lets go of a stream that never ran.
func (s *stream) drop() {
	if s.fd >= 0 {
		_ = unix.Close(s.fd)
		s.fd = -1
	}
	if s.out != nil {
		_ = s.out.Close()
	}
	if s.in != nil {
		_ = s.in.Close()
	}
}

// connect makes the socket of s, with the first of the server's addresses that can be had; the others are then forgotten.
func (c *Client) connect(ctx context.Context, s *stream, spec metric.Spec) error {
	c.mu.Lock()
	peers := c.peers
	c.mu.Unlock()
	var errs []error
	for _, peer := range peers {
		var err error
		if spec.Proto == metric.TCP {
			s.fd, err = c.dialTCP(ctx, peer, spec.Near)
		} else {
			s.fd, err = flow.DialUDP(netip.AddrPortFrom(c.o.Bind, 0), peer, spec.Near)
		}
		if err == nil && s.size == 0 {
			s.size = flow.DefaultTCPSize
			if spec.Proto == metric.UDP {
				if s.size, err = datagramSize(s.fd, peer); err != nil {
					_ = unix.Close(s.fd)
				}
			}
		}
		if err == nil {
			c.mu.Lock()
			c.peers = []netip.AddrPort{peer}
			c.mu.Unlock()
			return nil
		}
		s.fd = -1
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// stockRoom is the largest datagram that iperf 2 takes in whole unless it was started with -l, and the one it sends.
const stockRoom = 1470

// datagramSize is iperf's own choice of a size, or less where the path takes less.
func datagramSize(fd int, peer netip.AddrPort) (int, error) {
	size, err := flow.DatagramSize(fd, peer)
	most := stockRoom
	if peer.Addr().Is6() {
		most -= 20 // of the larger IP header
	}
	return min(size, most), err
}

func (c *Client) dialTCP(ctx context.Context, peer netip.AddrPort, o metric.Socket) (int, error) {
	d := net.Dialer{Timeout: c.o.Timeout, Control: func(_, _ string, raw syscall.RawConn) error {
		var opt error
		err := raw.Control(func(fd uintptr) { opt = flow.ConfigureTCP(int(fd), o) })
		return errors.Join(err, opt)
	}}
	if c.o.Bind.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(c.o.Bind, 0))
	}
	conn, err := d.DialContext(ctx, "tcp", peer.String())
	if err != nil {
		return -1, err
	}
	fd, err := flow.Detach(conn.(*net.TCPConn))
	if err != nil || !o.NoDelay {
		return fd, err
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		_ = unix.Close(fd)
		return -1, os.NewSyscallError("setsockopt TCP_NODELAY", err)
	}
	return fd, nil
}

// greet says at the head of the stream what is wanted, and where the server shall send waits until it does.
func (s *stream) greet(ctx context.Context, spec metric.Spec, segment time.Duration) error {
	h := header{size: s.size, rate: spec.RateBps, time: forever}
	switch spec.Mode {
	case metric.ModeIn:
		h.flags, h.upper = flagVersion2, upperReverse
	case metric.ModeBoth:
		h.flags, h.upper = flagVersion2, upperFullDuplex
	}
	if spec.Proto == metric.TCP {
		s.base = acked(s.fd)
		hello := make([]byte, quietSize)
		if spec.Mode != metric.ModeOut {
			hello = hello[:headerSize]
			h.put(hello, false)
		}
		if _, err := unix.Write(s.fd, hello); err != nil {
			return os.NewSyscallError("write", err)
		}
		if spec.Mode == metric.ModeOut {
			return nil
		}
		return s.await(ctx, nil)
	}
	if spec.Mode == metric.ModeOut {
		return nil
	}
	// A stock server goes on sending to a port that is closed, so it is told a time.
	h.flags, h.time = flagWide|flagUDPTests|flagVersion2, segment
	hush(s.fd)
	hello := make([]byte, headSize+headerSize)
	putHead(hello, 1, flow.Wall())
	h.put(hello[headSize:], true)
	return s.await(ctx, hello)
}

// await waits until the server sends. A datagram in which it was asked to may have been lost, or have come while the
// server was between two sockets, and is sent again.
func (s *stream) await(ctx context.Context, hello []byte) error {
	again := time.Now()
	refused := 0
	for deadline := again.Add(firstFor); time.Now().Before(deadline); {
		if err := ctx.Err(); err != nil {
			return err
		}
		if hello != nil && !time.Now().Before(again) {
			_, _ = unix.Write(s.fd, hello) // the wait hears of what is wrong
			again = time.Now().Add(firstAgain)
		}
		ok, err := readable(s.fd, 20)
		switch {
		case ok:
			return nil
		case err != nil && hello != nil && refused < maxRefused:
			refused++
		case err != nil:
			return err
		}
	}
	return errOld
}

// equip gives the socket to the flows of its direction.
func (s *stream) equip(spec metric.Spec, seg *segment) error {
	conf := flow.Config{Size: s.size, Rate: spec.RateBps, Calls: spec.NearCalls}
	var err error
	switch {
	case spec.Proto == metric.UDP && spec.Mode == metric.ModeOut:
		s.wire = newWire(seg.first, true)
		var u *udpSender
		if u, err = newUDPSender(s.fd, conf, s.wire, seg.told); err == nil {
			s.out = u
		}
	case spec.Proto == metric.UDP:
		s.wire = newWire(1, true)
		conf.Wire, conf.Size = s.wire, max(s.size, roomSize)
		s.in = flow.NewUDPReceiver(s.fd, conf)
	default:
		err = s.equipTCP(spec.Mode, conf, 0)
	}
	if err == nil {
		s.fd = -1
	}
	return err
}

// equipTCP gives the connection to a sender of so many bytes, or without an end, and to a receiver.
func (s *stream) equipTCP(mode metric.Mode, conf flow.Config, bytes uint64) error {
	var err error
	if mode != metric.ModeOut {
		fd := s.fd
		if mode == metric.ModeBoth {
			if fd, err = duplicate(s.fd); err != nil {
				return err
			}
		}
		in := conf
		in.Size = max(in.Size, flow.DefaultTCPSize)
		if s.in, err = flow.NewTCPReceiver(fd, in); err != nil {
			if fd != s.fd {
				_ = unix.Close(fd)
			}
			s.in = nil
			return err
		}
	}
	if mode != metric.ModeIn {
		t, err := newTCPSender(s.fd, conf, s.base, bytes, mode == metric.ModeBoth)
		if err != nil {
			return err
		}
		s.out = t
	}
	return nil
}

// ended waits until no direction of the stream is left, or for ctx, of which it is false.
func (s *stream) ended(ctx context.Context) bool {
	if s.out != nil {
		select {
		case <-s.out.Done():
		case <-ctx.Done():
			return false
		}
	}
	if s.in != nil {
		select {
		case <-s.in.Done():
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// err is why it ended.
func (s *stream) err() error {
	if s.out != nil && s.out.Err() != nil {
		return s.out.Err()
	}
	if s.in != nil && s.in.Err() != nil {
		return s.in.Err()
	}
	return errClosed
}

// errClosed is what became of a connection that the server ended in good order.
var errClosed = errors.New("it closed the connection")
