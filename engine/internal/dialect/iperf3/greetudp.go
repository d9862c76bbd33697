package iperf3

import (
	"errors"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/flow"
)

// A hello says nothing but "9876": no cookie, no number. All there is to tell whose it is by is the address it came from.
// So of the sessions of one address one at a time is asked to open its streams, and a hello is of that one. A session's
// address is proven by its control connection, so nothing is ever sent to one that did not ask for it.

// queue puts the session behind those of the same address that have not got all their streams. Its first is closed when
// its turn has come.
func (s *Server) queue(ss *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := append(s.queues[ss.peer.Addr()], ss)
	s.queues[ss.peer.Addr()] = q
	if len(q) == 1 {
		close(ss.first)
	}
}

// unqueue takes the session out, and lets the next one have its turn.
func (s *Server) unqueue(ss *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	addr := ss.peer.Addr()
	q := s.queues[addr]
	for i, other := range q {
		if other != ss {
			continue
		}
		q = append(q[:i:i], q[i+1:]...)
		if i == 0 && len(q) > 0 {
			close(q[0].first)
		}
		break
	}
	if len(q) == 0 {
		delete(s.queues, addr)
		return
	}
	s.queues[addr] = q
}

// hellos takes the first datagrams of streams. It is the only one who makes them, one after the other.
func (s *Server) hellos() {
	b := make([]byte, len(hello)+1)
	for {
		n, from, err := s.udp.ReadFromUDPAddrPort(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		// What is longer is a datagram of a test that has ended.
		// One from port 0 is nobody's: a socket connected with it would take those of all other ports.
		if err == nil && n == len(hello) && from.Port() != 0 {
			s.hello(netip.AddrPortFrom(from.Addr().Unmap(), from.Port()))
		}
	}
}

// hello makes the stream of a client that says hello and is waited for, and answers it.
func (s *Server) hello(from netip.AddrPort) {
	for from.IsValid() {
		s.mu.Lock()
		var ss *session
		if q := s.queues[from.Addr()]; len(q) > 0 {
			ss = q[0]
		}
		s.mu.Unlock()
		if ss == nil || !ss.asked.Load() {
			return
		}
		fd, err := flow.DialUDP(ss.local, from, ss.p.socket())
		if err != nil {
			ss.fail(err)
			return
		}
		// Between its bind and its connect the new socket may have got the hello of another, which nobody will repeat.
		next := stranger(fd, from)
		if !ss.arrive(arrival{fd: fd}) {
			_ = unix.Close(fd)
		}
		from = next
	}
}

// stranger empties the queue of a socket that was just connected with peer, and returns who else said hello on it; the
// zero AddrPort where nobody did.
func stranger(fd int, peer netip.AddrPort) netip.AddrPort {
	var found netip.AddrPort
	var b [len(hello) + 1]byte
	for {
		n, sa, err := unix.Recvfrom(fd, b[:], unix.MSG_DONTWAIT)
		if err != nil {
			return found
		}
		var from netip.AddrPort
		switch a := sa.(type) {
		case *unix.SockaddrInet4:
			from = netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
		case *unix.SockaddrInet6:
			from = netip.AddrPortFrom(netip.AddrFrom16(a.Addr).WithZone(peer.Addr().Zone()), uint16(a.Port))
		}
		if n == len(hello) && from != peer {
			found = from
		}
	}
}
