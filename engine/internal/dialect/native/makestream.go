package native

import (
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// make builds the far end of a stream from its arrival, idle.
func (s *session) make(spec StreamSpec, a arrival) (*Grant, error) {
	if spec.Proto == metric.TCP {
		if spec.Far.Congestion == "" {
			flow.KernelCongestion(a.fd)
		}
		if err := flow.ConfigureTCP(a.fd, spec.Far); err != nil {
			_ = unix.Close(a.fd)
			return nil, err
		}
	} else {
		var err error
		if a.fd, err = flow.DialUDP(s.local(a.peer), a.peer, spec.Far); err != nil {
			return nil, err
		}
	}
	g, err := s.adopt(spec, a)
	if err != nil {
		_ = unix.Close(a.fd)
	}
	return g, err
}

// adopt gives the socket to a stream, which owns it unless there is an error.
func (s *session) adopt(spec StreamSpec, a arrival) (*Grant, error) {
	g := &Grant{Size: spec.Size}
	var err error
	if g.Size == 0 && spec.Proto == metric.TCP {
		g.Size = flow.DefaultTCPSize
	} else if g.Size == 0 {
		if g.Size, err = flow.DatagramSize(a.fd, a.peer); err != nil {
			return nil, err
		}
	}
	if g.Socket, err = flow.Granted(a.fd, spec.Proto); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		return nil, errOver
	default:
	}
	if s.expects[spec.ID] == nil {
		return nil, errNotWanted(spec.ID)
	}
	if spec.Proto == protoProbe {
		r, err := flow.NewReflector(a.fd, spec.ID, s.token.tag())
		if err != nil {
			return nil, err
		}
		s.probes[spec.ID] = r
		r.Start()
		return g, nil
	}
	e := end{fd: a.fd, id: spec.ID, tag: s.token.tag(), proto: spec.Proto, size: g.Size, rate: spec.Rate, calls: spec.Calls}
	if err := e.join(&s.ledger, spec.Dir == metric.In); err != nil {
		return nil, err
	}
	s.open[spec.ID] = spec
	return g, nil
}

// local is the address the near end dialled: UDP streams must come from it, or the near end's socket drops them.
func (s *session) local(peer netip.AddrPort) netip.AddrPort {
	a := s.ctl.conn.LocalAddr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}

// proven says whether the address is the near end's, from which its control connection comes. What a datagram claims to come
// from is not: who has a token could have this end send to a stranger.
func (s *session) proven(a netip.Addr) bool {
	near := s.ctl.conn.RemoteAddr().(*net.TCPAddr).AddrPort()
	return a == near.Addr().Unmap()
}

// end is one end of a load stream, before it is running.
type end struct {
	fd    int
	id    uint32
	tag   uint32
	proto metric.Proto
	size  int
	rate  int64
	calls metric.Calls
}

// join puts the end into l, which owns its socket from then on unless there is an error.
func (e end) join(l *flow.Ledger, sends bool) error {
	if err := flow.CheckCPUs(e.calls.Affinity); err != nil {
		return err
	}
	c := flow.Config{Size: e.size, Rate: e.rate, Calls: e.calls}
	if e.proto == metric.UDP {
		c.Wire = flow.NewNative(e.id, e.tag)
	}
	var s flow.Sender
	var r flow.Receiver
	var err error
	switch {
	case e.proto == metric.TCP && sends:
		s, err = flow.NewTCPSender(e.fd, c)
	case e.proto == metric.TCP:
		r, err = flow.NewTCPReceiver(e.fd, c)
	case sends:
		s = flow.NewUDPSender(e.fd, c)
	default:
		r = flow.NewUDPReceiver(e.fd, c)
	}
	switch {
	case err != nil:
		return err
	case sends:
		l.AddSender(e.id, s)
	default:
		l.AddReceiver(e.id, r)
	}
	return nil
}
