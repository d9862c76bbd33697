package flow

import (
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// tellEvery is how old what a TCPSender has told of itself may get, in nanoseconds, while its thread is run: 2 % of a
// sampling interval, for half a microsecond of work.
const tellEvery = 2_000_000

// TCPSender hands the same bytes to the kernel again and again. Its thread alone talks to its socket: a system call on the
// socket of a sender that was preempted within its write waits until that thread is run again, which with a hundred senders
// on two processors is a fifth of a second for each.
type TCPSender struct {
	tcp
	way  way
	size int          // of a write
	base uint64       // bytes_acked before the first write: the handshake and the preamble
	rate atomic.Int64 // asked of the thread

	told told
}

// NewTCPSender takes over the connected socket fd, unless there is an error. Each write is of c.Size bytes, or of less where
// the stream is paced, made in the way of c.Calls.Copy; one that this kernel does not have is an error.
func NewTCPSender(fd int, c Config) (*TCPSender, error) {
	if err := setTimeout(fd, unix.SO_SNDTIMEO, turn); err != nil {
		return nil, err
	}
	// What is still queued at the end is of no use to anyone: closing resets the connection instead of draining it.
	if err := unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}); err != nil {
		return nil, os.NewSyscallError("setsockopt SO_LINGER", err)
	}
	w, err := newWay(c.Calls.Copy, fd, c.Size)
	if err != nil {
		return nil, err
	}
	s := &TCPSender{way: w, size: c.Size}
	s.own(fd, c.Calls.Affinity, s.send)
	s.rate.Store(c.Rate)
	var i info
	if i.read(fd) {
		s.base = i.Bytes_acked
	}
	return s, nil
}

func (s *TCPSender) send() error {
	// Timers of a normal thread are rounded up by 50 us.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	defer unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // the thread goes back to the runtime
	var i info
	var a allowance
	var told int64
	defer func() { s.tell(&i) }()
	for !s.stop.Load() {
		s.serve()
		now := Mono()
		if now-told >= tellEvery {
			s.tell(&i)
			told = now
		}
		if asked := s.rate.Load(); asked != a.rate {
			if err := setPacing(s.fd, 2*asked); err != nil { // see allowance
				return err
			}
			a.aim(now, asked)
		}
		n, until := a.left(now, s.size)
		if n == 0 {
			nap(now, min(until, now+tellEvery))
			continue
		}
		n, err := s.way.write(s.fd, n)
		if err != nil && err != unix.EINTR && err != unix.EAGAIN && !s.stop.Load() {
			return os.NewSyscallError("write", err)
		}
		a.took(n)
	}
	return nil
}

// tell reads TCP_INFO into i, the thread's own, and publishes it.
func (s *TCPSender) tell(i *info) {
	if i.read(s.fd) {
		s.told.store(i, s.base)
	}
}

// Aim paces the running stream to bps bit/s of payload from its next write on.
func (s *TCPSender) Aim(bps int64, _ metric.Calls) error {
	s.rate.Store(bps)
	return nil
}

// Tx is what the thread last told of TCP_INFO.
func (s *TCPSender) Tx() Tx { return s.told.load() }

// Close ends the traffic, closes the socket and lets go of the buffer.
func (s *TCPSender) Close() error {
	err := s.tcp.Close()
	s.way.close()
	return err
}
