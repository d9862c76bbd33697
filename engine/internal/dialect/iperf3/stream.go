package iperf3

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// stream is this end of one stream of a test. Its traffic is the ledger's.
type stream struct {
	id     int    // iperf3's
	key    uint32 // the ledger's
	fd     int    // of the socket, which the traffic closes
	held   int    // a second descriptor of a TCP connection, -1 for UDP
	tx     flow.Sender
	rx     flow.Receiver
	before tally // what had been counted when the omitted seconds were over
}

// tally is what a stream has counted.
type tally struct {
	bytes, packets, lost, retrans uint64
	jitter                        metric.Num // ns
}

// config is the ends of a test's streams.
type config struct {
	proto  metric.Proto
	size   int // bytes a write or a datagram
	header int // bytes of a datagram's head
	rate   int64
	calls  metric.Calls
}

// newStream gives the connected socket fd to the ledger, idle, as key. The caller keeps fd where there is an error.
//
// A TCP connection stays open until the stream lets go of it: neither side of iperf3 bears that one ends before the results
// are exchanged.
func newStream(l *flow.Ledger, fd int, key uint32, id int, sends bool, c config) (*stream, error) {
	s := &stream{id: id, key: key, fd: fd, held: -1}
	fc := flow.Config{Size: c.size, Rate: c.rate, Calls: c.calls}
	if c.proto == metric.UDP {
		fc.Wire = &datagram{size: c.header}
	} else {
		var err error
		if s.held, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			return nil, os.NewSyscallError("fcntl F_DUPFD_CLOEXEC", err)
		}
	}
	var err error
	switch {
	case c.proto == metric.TCP && sends:
		s.tx, err = flow.NewTCPSender(fd, fc)
	case c.proto == metric.TCP:
		fc.Size = max(fc.Size, flow.DefaultTCPSize)
		s.rx, err = flow.NewTCPReceiver(fd, fc)
	case sends:
		s.tx = flow.NewUDPSender(fd, fc)
	default:
		s.rx = flow.NewUDPReceiver(fd, fc)
	}
	if err != nil {
		s.letGo()
		return nil, fmt.Errorf("stream %d: %w", id, err)
	}
	if sends {
		l.AddSender(key, s.tx)
	} else {
		l.AddReceiver(key, s.rx)
	}
	return s, nil
}

// stop ends a sender and returns its final count. Its connection stays open, but says that no more will come, and what is
// queued goes out as fast as it can: stock peers read whole blocks, and one that waits for the rest of a block hears nothing
// else. At 1 Mbit/s a block takes a second.
func (s *stream) stop(l *flow.Ledger) flow.Tx {
	tx, _ := l.CloseSender(s.key)
	if s.held >= 0 {
		// Of a connection that is gone there is nothing to hurry or to end.
		_ = unix.SetsockoptUint64(s.held, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, math.MaxUint64)
		_ = unix.Shutdown(s.held, unix.SHUT_WR)
	}
	return tx
}

// letGo closes what the stream holds of its connection.
func (s *stream) letGo() {
	if s.held >= 0 {
		_ = unix.Close(s.held)
		s.held = -1
	}
}

// tally reads the stream's counters.
func (s *stream) tally() tally {
	if s.tx != nil {
		tx := s.tx.Tx()
		return tally{bytes: tx.Bytes, packets: tx.Packets, retrans: tx.Retrans}
	}
	rx := s.rx.Rx(nil)
	return tally{bytes: rx.Bytes, packets: rx.Expected, lost: rx.Lost(), jitter: rx.JitterNs}
}

// result is the stream for the peer, over seconds. What was counted is t.
func (s *stream) result(t tally, proto metric.Proto, seconds float64) streamResult {
	r := streamResult{
		ID: number(s.id), Bytes: number(t.bytes - min(s.before.bytes, t.bytes)), Retransmits: unknown,
		Errors: number(t.lost), OmittedErrors: number(s.before.lost),
		Packets: number(t.packets), OmittedPackets: number(s.before.packets),
		EndTime: number(math.Round(seconds*1e6) / 1e6),
	}
	if s.tx != nil && proto == metric.TCP {
		r.Retransmits = number(t.retrans - min(s.before.retrans, t.retrans))
	}
	r.Jitter = number(t.jitter.Or(0) / 1e9)
	return r
}
