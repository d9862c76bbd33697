package iperf2

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

const (
	// partFor bounds how long a TCP sender takes to see off what it has written.
	partFor = 2 * time.Second
	// partTick is how often it looks, in milliseconds.
	partTick = 20
	// unsentPart is the part of a second of a sender's rate that may be written and not sent, and minUnsent its least.
	unsentPart = 50
	minUnsent  = 16 << 10
)

// tcpSender is a sender over TCP that ends as iperf's does: what is queued goes out, and the connection is closed only
// when the far end has closed it too. A stock server counts and reports nothing of a connection that was reset.
type tcpSender struct {
	flow.Sender
	fd     int    // a second descriptor, so that the socket outlives the flow
	duplex bool   // a receiver reads the other way of the connection
	base   uint64 // what was acknowledged before the first byte of ours

	cut  atomic.Bool // the far end is not waited for
	once sync.Once
	mu   sync.Mutex
	all  flow.Tx // of a sender that has ended
	over bool
}

// newTCPSender takes over fd unless there is an error. base is the connection's [acked] before anything was written, and
// bytes how many are to be sent, 0 without an end.
func newTCPSender(fd int, c flow.Config, base, bytes uint64, duplex bool) (*tcpSender, error) {
	dup, err := duplicate(fd)
	if err != nil {
		return nil, err
	}
	s := &tcpSender{fd: dup, duplex: duplex, base: base}
	if bytes > 0 {
		s.Sender, err = newVolume(fd, c, bytes)
	} else {
		s.Sender, err = flow.NewTCPSender(fd, c)
	}
	if err != nil {
		_ = unix.Close(dup)
		return nil, err
	}
	s.bound(c.Rate)
	return s, nil
}

// Aim gives the running stream a new rate.
func (s *tcpSender) Aim(bps int64, c metric.Calls) error {
	s.bound(bps)
	return s.Sender.Aim(bps, c)
}

// bound keeps short the queue of what is written and not sent: at the end it goes out at once.
func (s *tcpSender) bound(bps int64) {
	unsent := math.MaxInt32
	if bps > 0 {
		unsent = int(min(max(bps/8/unsentPart, minUnsent), math.MaxInt32))
	}
	_ = unix.SetsockoptInt(s.fd, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, unsent)
}

// acked is how many bytes the far end of fd has acknowledged.
func acked(fd int) uint64 {
	if i, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
		return i.Bytes_acked
	}
	return 0
}

// halt ends the sending and leaves the connection.
func (s *tcpSender) halt() { _ = s.Sender.Close() }

// Close ends the stream, within [partFor].
func (s *tcpSender) Close() error {
	s.once.Do(s.part)
	return nil
}

// Tx is what was acknowledged; after Close all that was.
func (s *tcpSender) Tx() flow.Tx {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return s.all
	}
	return s.Sender.Tx()
}

func (s *tcpSender) part() {
	s.halt()
	all := s.Sender.Tx()
	// What was written and is held back by the pacing is not worth waiting for at that rate.
	_ = unix.SetsockoptUint64(s.fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, math.MaxUint64)
	seen := unix.Shutdown(s.fd, unix.SHUT_WR) == nil && s.seenOff(time.Now().Add(partFor))
	if n := acked(s.fd) - s.base; seen && n > 0 && n < math.MaxInt64 {
		all.Bytes = max(all.Bytes, n-1) // the end of the stream is acknowledged as a byte
	}
	if seen && !s.duplex {
		// The far end has closed as well: there is nothing left that a reset would be for.
		_ = unix.SetsockoptLinger(s.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{})
	}
	s.mu.Lock()
	s.all, s.over = all, true
	s.mu.Unlock()
	_ = unix.Close(s.fd)
}

// seenOff waits until the far end has all of it: until it closes, or, where someone else reads, acknowledges.
func (s *tcpSender) seenOff(deadline time.Time) bool {
	if s.duplex {
		tick := time.NewTicker(partTick * time.Millisecond)
		defer tick.Stop()
		for ; time.Now().Before(deadline) && !s.cut.Load(); <-tick.C {
			i, err := unix.GetsockoptTCPInfo(s.fd, unix.IPPROTO_TCP, unix.TCP_INFO)
			if err != nil {
				return false
			}
			if i.Unacked == 0 && i.Notsent_bytes == 0 {
				return true
			}
		}
		return false
	}
	b := make([]byte, 4096)
	for time.Now().Before(deadline) && !s.cut.Load() {
		if ok, err := readable(s.fd, partTick); err != nil {
			return false
		} else if !ok {
			continue
		}
		n, _, err := unix.Recvfrom(s.fd, b, unix.MSG_DONTWAIT)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN || n > 0:
		default:
			return err == nil
		}
	}
	return false
}
