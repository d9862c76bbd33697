package flow

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// tellEvery is how old what a TCPSender has told of itself may get, in nanoseconds, while its thread is run: 2 % of a
// sampling interval, for half a microsecond of work.
const tellEvery = 2_000_000

// TCPSender writes one buffer again and again. Its thread alone talks to its socket: a system call on the socket of a
// sender that was preempted within its write waits until that thread is run again, which with a hundred senders on two
// processors is a fifth of a second for each.
type TCPSender struct {
	thread
	buf  []byte
	base uint64       // bytes_acked before the first write: the handshake and the preamble
	rate atomic.Int64 // asked of the thread

	// What the thread last told.
	acked   atomic.Uint64
	retrans atomic.Uint64
	rtt     atomic.Uint32 // microseconds; 0 before the first
}

// NewTCPSender takes over the connected socket fd. Each write is of c.Size bytes.
func NewTCPSender(fd int, c Config) (*TCPSender, error) {
	s := &TCPSender{buf: make([]byte, c.Size)}
	s.own(fd, s.send)
	s.rate.Store(c.Rate)
	for i := range s.buf {
		s.buf[i] = byte(i)
	}
	if err := setTimeout(fd, unix.SO_SNDTIMEO, turn); err != nil {
		return nil, err
	}
	// What is still queued at the end is of no use to anyone: closing resets the connection instead of draining it.
	if err := unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}); err != nil {
		return nil, os.NewSyscallError("setsockopt SO_LINGER", err)
	}
	var i unix.TCPInfo
	if tcpInfo(fd, &i) {
		s.base = i.Bytes_acked
	}
	return s, nil
}

func (s *TCPSender) send() error {
	var info unix.TCPInfo
	var rate, told int64
	defer func() { s.tell(&info) }()
	for !s.stop.Load() {
		if asked := s.rate.Load(); asked != rate {
			if err := setPacing(s.fd, asked); err != nil {
				return err
			}
			rate = asked
		}
		_, err := transfer(unix.SYS_SENDTO, s.fd, s.buf)
		if err != nil && err != unix.EINTR && err != unix.EAGAIN && !s.stop.Load() {
			return os.NewSyscallError("write", err)
		}
		if now := Mono(); now-told >= tellEvery {
			s.tell(&info)
			told = now
		}
	}
	return nil
}

// tell reads TCP_INFO into i, the thread's own, and publishes it: what was acknowledged, not what was written, which leads
// by the send buffer.
func (s *TCPSender) tell(i *unix.TCPInfo) {
	if !tcpInfo(s.fd, i) {
		return
	}
	s.acked.Store(i.Bytes_acked - min(s.base, i.Bytes_acked))
	s.retrans.Store(uint64(i.Total_retrans))
	s.rtt.Store(i.Rtt)
}

// Aim paces the running stream to bps bit/s of payload from its next write on.
func (s *TCPSender) Aim(bps int64, _ metric.Calls) error {
	s.rate.Store(bps)
	return nil
}

// Tx is what the thread last told of TCP_INFO.
func (s *TCPSender) Tx() Tx {
	tx := Tx{Bytes: s.acked.Load(), Retrans: s.retrans.Load()}
	if us := s.rtt.Load(); us > 0 {
		tx.RttMs = metric.N(float64(us) / 1e3)
	}
	return tx
}

// TCPReceiver reads into one buffer again and again: a real copy, as an application would make.
type TCPReceiver struct {
	thread
	buf  []byte
	read atomic.Uint64
}

// NewTCPReceiver takes over the connected socket fd. Each read is of up to c.Size bytes.
func NewTCPReceiver(fd int, c Config) (*TCPReceiver, error) {
	if err := setTimeout(fd, unix.SO_RCVTIMEO, turn); err != nil {
		return nil, err
	}
	r := &TCPReceiver{buf: make([]byte, c.Size)}
	r.own(fd, r.receive)
	return r, nil
}

func (r *TCPReceiver) receive() error {
	var sum uint64
	for !r.stop.Load() {
		n, err := transfer(unix.SYS_RECVFROM, r.fd, r.buf)
		switch {
		case n > 0:
			sum += uint64(n)
			r.read.Store(sum)
		case err == unix.EINTR || err == unix.EAGAIN:
		case err == nil || err == unix.ECONNRESET || r.stop.Load():
			return nil // a sender ends by reset, see NewTCPSender
		default:
			return os.NewSyscallError("read", err)
		}
	}
	return nil
}

// Rx is what was read. TCP has no jitter of its own.
func (r *TCPReceiver) Rx(*metric.Hist) Rx { return Rx{Bytes: r.read.Load()} }

// Aim gives the running stream new calls.
func (r *TCPReceiver) Aim(int64, metric.Calls) error { return nil }

// Finish ends it.
func (r *TCPReceiver) Finish(uint64) (Rx, error) {
	err := r.Close()
	return r.Rx(nil), err
}

// transfer is sendto(2) or recvfrom(2) of all of b, which is [metric.MaxTCPSize] at most. It waits for the socket's
// [turn] at most, without a word to the Go scheduler, see the package comment.
func transfer(call uintptr, fd int, b []byte) (int, error) {
	n, _, e := unix.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)),
		unix.MSG_NOSIGNAL, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// tcpInfo reads TCP_INFO into i, without a word to the Go scheduler. The structure grows from kernel to kernel: an older
// one returns less, and is not believed about what it left out.
func tcpInfo(fd int, i *unix.TCPInfo) bool {
	n := uint32(unsafe.Sizeof(*i))
	_, _, e := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(i)), uintptr(unsafe.Pointer(&n)), 0)
	return e == 0 && uintptr(n) >= unsafe.Offsetof(i.Bytes_acked)+unsafe.Sizeof(i.Bytes_acked)
}
