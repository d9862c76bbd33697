package iperf2

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
)

const (
	finTries = 10                     // of the last datagram, iperf 2.0's number
	finFirst = 100 * time.Millisecond // between the first two, more than a server takes: it counts a copy as one that was lost and came
	finMost  = 250 * time.Millisecond // between two
)

// errNobody is what comes of asking a port for a report that no server listens on.
var errNobody = dialect.OfPeer(errors.New("no iperf server is there"))

// udpSender is a [flow.UDPSender] that ends by asking for the far end's [report].
type udpSender struct {
	*flow.UDPSender
	fd   int // a second descriptor, for the report
	wire *wire
	// told is given what was sent and for how long, and the report or why there is none.
	told func(sent, report, error)
	// begun is set by the first of Start and halt.
	begun   time.Time
	started sync.Once
	took    atomic.Int64 // nanoseconds from begun to the halt
	once    sync.Once
}

// newUDPSender takes over fd unless there is an error.
func newUDPSender(fd int, c flow.Config, w *wire, told func(sent, report, error)) (*udpSender, error) {
	dup, err := duplicate(fd)
	if err != nil {
		return nil, err
	}
	c.Wire = w
	return &udpSender{UDPSender: flow.NewUDPSender(fd, c), fd: dup, wire: w, told: told}, nil
}

// sent is what a stream carried.
type sent struct {
	flow.Tx
	took time.Duration
}

// Start lets it run.
func (s *udpSender) Start() {
	s.started.Do(func() { s.begun = time.Now() })
	s.UDPSender.Start()
}

// halt ends the sending.
func (s *udpSender) halt() {
	s.started.Do(func() { s.begun = time.Now() })
	s.took.CompareAndSwap(0, int64(time.Since(s.begun)))
	_ = s.UDPSender.Close()
}

// Close ends the stream, within the two seconds that the tries take.
func (s *udpSender) Close() error {
	s.once.Do(func() {
		s.halt()
		tx := s.Tx()
		r, err := s.ask(tx)
		_ = unix.Close(s.fd)
		s.told(sent{tx, time.Duration(s.took.Load())}, r, err)
	})
	return nil
}

// ask sends the last datagram until the report is there. It has the same number each time, so that one that is lost is
// not counted as one of the stream's.
func (s *udpSender) ask(tx flow.Tx) (report, error) {
	if tx.Packets == 0 {
		return report{}, errors.New("nothing was sent")
	}
	fin, answer := make([]byte, quietSize), make([]byte, 2048)
	hush(s.fd)
	refused := 0
	wait := finFirst
	for range finTries {
		s.wire.Put(fin, &flow.Head{})
		putHead(fin, -(int64(tx.Packets) + s.wire.first), flow.Wall())
		if _, err := unix.Write(s.fd, fin); err == unix.ECONNREFUSED {
			refused++
		}
		for deadline := time.Now().Add(wait); ; {
			left := time.Until(deadline)
			if left <= 0 {
				break
			}
			ok, err := readable(s.fd, int(left/time.Millisecond)+1)
			if err != nil {
				refused++
			}
			if !ok {
				continue
			}
			n, _, err := unix.Recvfrom(s.fd, answer, unix.MSG_DONTWAIT)
			if err != nil {
				continue
			}
			if r, ok := parseReport(answer[:n]); ok {
				return r, nil
			}
		}
		if refused > 2 {
			return report{}, errNobody
		}
		wait = finMost
	}
	return report{}, fmt.Errorf("no report came within %d tries", finTries)
}
