package iperf2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

const (
	// udpIdle is how long a client may send nothing.
	udpIdle = 10 * time.Second
	// reportFor is how long after a report it is sent again to a client that asks again.
	reportFor = 500 * time.Millisecond
	// shunned is how many datagrams of one who was sent away are thrown away at a time: more than a socket holds.
	shunned = 1024
	// maxPeers bounds the streams that are there and those that are shunned, of which there are ever more where sessions are
	// short and clients do not go. Each has a socket.
	maxPeers = 4 * metric.MaxSessions
	// lateFirst bounds the number of the first datagram that arrives of a stream. What begins further on is none.
	lateFirst = 1 << 24
)

// noReverse is what becomes of -R and --full-duplex over UDP.
const noReverse = "it asked for UDP -R or --full-duplex: one datagram proves no address, so nothing was sent (TCP -R is served)"

// udpGuest is the stream that comes from one port of a client.
type udpGuest struct {
	dialect.Guest
	load   flow.Ledger
	kicked chan string
	h      header
	wire   *wire
	early  *early
	fd     int   // a second descriptor, for the report
	begun  int64 // CLOCK_MONOTONIC ns
	old    bool  // its reports lie where those of 2.0.9 do
}

// early is the receiver of a stream some of whose datagrams came to the server's own socket, before there was one of the
// stream. They count in bytes and datagrams; no jitter is taken of them.
type early struct {
	*flow.UDPReceiver
	datagrams, bytes atomic.Uint64
}

// Rx is what arrived, at either socket.
func (e *early) Rx(h *metric.Hist) flow.Rx { return e.with(e.UDPReceiver.Rx(h)) }

// Finish ends the stream.
func (e *early) Finish(sent uint64) (flow.Rx, error) {
	rx, err := e.UDPReceiver.Finish(sent)
	return e.with(rx), err
}

func (e *early) with(rx flow.Rx) flow.Rx {
	rx.Bytes += e.bytes.Load()
	rx.Packets += e.datagrams.Load()
	rx.Expected = max(rx.Expected, rx.Packets)
	return rx
}

// listen takes the first datagrams of streams. It never answers one.
func (s *Server) listen() {
	b, oob := make([]byte, 1<<16), make([]byte, 256)
	for {
		n, oobn, _, from, err := s.udp.ReadMsgUDPAddrPort(b, oob)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		peer := netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		s.mu.Lock()
		g, all := s.peers[peer], len(s.peers)
		s.mu.Unlock()
		switch {
		case g != nil:
			g.take(b[:n])
		case peer.Port() == 0:
			// Nobody's: a socket connected with it would take the datagrams of all other ports of that host.
		case all < maxPeers:
			s.admit(peer, destination(oob[:oobn]), b[:n])
		}
	}
}

// destination is where a datagram was sent to; the zero Addr where the kernel does not say.
func destination(oob []byte) netip.Addr {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return netip.Addr{}
	}
	for _, m := range messages {
		switch {
		case m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_PKTINFO && len(m.Data) >= 12:
			return netip.AddrFrom4([4]byte(m.Data[8:12]))
		case m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_PKTINFO && len(m.Data) >= 16:
			return netip.AddrFrom16([16]byte(m.Data[:16])).Unmap()
		}
	}
	return netip.Addr{}
}

// admit makes a guest of who sent b first, if that is how a stream begins.
func (s *Server) admit(peer netip.AddrPort, local netip.Addr, b []byte) {
	g := &udpGuest{kicked: make(chan string, 1), begun: flow.Mono()}
	var ok bool
	if g.wire, g.h, g.old, ok = firstDatagram(b); !ok {
		return
	}
	g.Dialect, g.Peer, g.Load, g.Kick = Name, peer.String(), &g.load, kicker(g.kicked)
	if s.house.Enter(&g.Guest) != nil {
		return
	}
	g.Describe(metric.UDP, g.h.mode(), 1)
	if err := g.equip(local, uint16(s.udp.LocalAddr().(*net.UDPAddr).Port), peer, len(b)); err != nil {
		g.Leave(err.Error())
		return
	}
	g.take(b)
	s.mu.Lock()
	s.peers[peer] = g
	s.mu.Unlock()
	g.load.Start()
	s.wg.Go(func() {
		reason := g.run(s)
		s.mu.Lock()
		delete(s.peers, peer)
		s.mu.Unlock()
		_ = unix.Close(g.fd)
		g.Leave(reason)
	})
}

// firstDatagram is how a stream is to be read, from the first of it that came; false where it is none.
func firstDatagram(b []byte) (w *wire, h header, old, ok bool) {
	wide := len(b) >= dataSize && binary.BigEndian.Uint32(b[headSize:])&flagWide != 0
	id, _, ok := parseHead(b, wide)
	if !ok || id < 0 || id >= lateFirst {
		return nil, header{}, false, false
	}
	if wide {
		h = parseHeader(b[headSize:], true)
	}
	w = newWire(min(id, 1), wide)
	// 2.0.9 and before have no word at 16 that says anything, and look for the report four bytes earlier.
	old = len(b) < dataSize || binary.BigEndian.Uint32(b[headSize:])&(flagVersion1|flagExtend|flagWide) == 0
	return w, h, old, true
}

// equip makes the socket of the stream.
func (g *udpGuest) equip(local netip.Addr, port uint16, peer netip.AddrPort, size int) error {
	if !local.IsValid() {
		local = netip.IPv6Unspecified()
		if peer.Addr().Is4() {
			local = netip.IPv4Unspecified()
		}
	}
	if local.Is6() && peer.Addr().Zone() != "" {
		local = local.WithZone(peer.Addr().Zone())
	}
	fd, err := flow.DialUDP(netip.AddrPortFrom(local, port), peer, metric.Socket{})
	if err != nil {
		return err
	}
	if g.fd, err = duplicate(fd); err != nil {
		_ = unix.Close(fd)
		return err
	}
	g.early = &early{UDPReceiver: flow.NewUDPReceiver(fd, flow.Config{Wire: g.wire, Size: max(size, roomSize)})}
	g.load.AddReceiver(1, g.early)
	return nil
}

// take counts a datagram that came to the server's own socket. Its number is not looked at but for its sign: the stream's
// own receiver counts as lost what came before its first.
func (g *udpGuest) take(b []byte) {
	switch id, _, ok := parseHead(b, g.wire.wide); {
	case !ok:
	case id < 0 && -id < lateFirst:
		g.wire.finish(-id)
	case id >= 0:
		g.early.datagrams.Add(1)
		g.early.bytes.Add(uint64(len(b)))
	}
}

// run waits for the end of the stream and reports what came of it. It returns the reason where it did not end well.
func (g *udpGuest) run(s *Server) string {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	quiet := idle{most: udpIdle}
	for {
		select {
		case reason := <-g.kicked:
			g.load.FinishReceiver(1, 0)
			g.Leave(reason)
			g.shun(s)
			return reason
		case <-s.ctx.Done():
			g.load.FinishReceiver(1, 0)
			return "the server ends"
		case <-g.wire.over:
			g.report(s)
			return g.reason("")
		case now := <-tick.C:
			if !quiet.over(now, g.load.Read(nil).Rx.Packets) {
				continue
			}
			g.load.FinishReceiver(1, 0)
			return g.reason(fmt.Sprintf("nothing came for %v", udpIdle))
		}
	}
}

// shun keeps the client out until it has sent nothing for [udpIdle]. It cannot be told that it was sent away, and what it goes
// on to send would be taken for a new stream. Its socket takes its datagrams meanwhile; the kernel drops what is too many.
func (g *udpGuest) shun(s *Server) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	b := make([]byte, 1)
	for last := time.Now(); time.Since(last) < udpIdle; {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		for range shunned {
			if _, _, err := unix.Recvfrom(g.fd, b, unix.MSG_DONTWAIT); err != nil {
				break
			}
			last = time.Now()
		}
	}
}

// reason is why the guest leaves: what it was refused, before anything else.
func (g *udpGuest) reason(otherwise string) string {
	switch {
	case g.h.mode() != metric.ModeOut:
		return noReverse
	case g.h.flags&flagVersion1 != 0 && otherwise == "":
		return noLegacy
	}
	return otherwise
}

// report answers the last datagram with what was received, and those by which a client asks again.
func (g *udpGuest) report(s *Server) {
	stop := time.Duration(flow.Mono() - g.begun)
	g.Look()
	g.load.FinishReceiver(1, g.wire.sent())
	hush(g.fd)
	rx := g.early.Rx(nil)
	// The datagram that ended it counts here, as in iperf's own reports.
	r := report{bytes: rx.Bytes, stop: stop, lost: rx.Lost(), datagrams: rx.Expected + 1, jitterNs: rx.JitterNs, old: g.old}
	b, in := make([]byte, reportSize), make([]byte, roomSize)
	r.put(b)
	budget := rx.Bytes
	for asked := time.Now(); time.Since(asked) < reportFor && s.ctx.Err() == nil; {
		if budget < reportSize {
			return
		}
		budget -= reportSize
		if _, err := unix.Write(g.fd, b); err != nil {
			return // the client is gone
		}
		for again := false; !again; {
			left := reportFor - time.Since(asked)
			if left <= 0 {
				return
			}
			ok, err := readable(g.fd, int(left/time.Millisecond)+1)
			if err != nil {
				return
			}
			if !ok {
				continue
			}
			n, _, err := unix.Recvfrom(g.fd, in, unix.MSG_DONTWAIT)
			if err != nil {
				continue
			}
			budget += uint64(n)
			id, _, ok := parseHead(in[:n], g.wire.wide)
			again = ok && id < 0
		}
		asked = time.Now()
	}
}
