package flow

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// TCPSender writes one buffer again and again.
type TCPSender struct {
	thread
	buf     []byte
	written atomic.Uint64
	base    uint64 // bytes_acked before the first write: the handshake and the preamble
	last    Tx     // guarded by thread.mu
}

// NewTCPSender takes over the connected socket fd. Each write is of size bytes.
func NewTCPSender(fd, size int, bps int64) (*TCPSender, error) {
	s := &TCPSender{buf: make([]byte, size)}
	s.own(fd, s.send)
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
	if bps > 0 {
		if err := setPacing(fd, bps); err != nil {
			return nil, err
		}
	}
	if i, ok := tcpInfo(fd); ok {
		s.base = i.Bytes_acked
	}
	return s, nil
}

func (s *TCPSender) send() error {
	var sum uint64
	for !s.stop.Load() {
		n, err := transfer(unix.SYS_SENDTO, s.fd, s.buf)
		if n > 0 {
			sum += uint64(n)
			s.written.Store(sum)
		}
		if err != nil && err != unix.EINTR && err != unix.EAGAIN && !s.stop.Load() {
			return os.NewSyscallError("write", err)
		}
	}
	return nil
}

// SetRate paces the running stream to bps bit/s of payload.
func (s *TCPSender) SetRate(bps int64) error {
	return s.use(func(fd int) error { return setPacing(fd, bps) })
}

// Tx reads TCP_INFO: what was acknowledged, not what was written, which leads by the send buffer.
func (s *TCPSender) Tx() Tx {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.last
	}
	if i, ok := tcpInfo(s.fd); ok {
		// At the end the shut socket may count its own FIN.
		s.last.Bytes = max(s.last.Bytes, min(i.Bytes_acked-min(s.base, i.Bytes_acked), s.written.Load()))
		s.last.Retrans = uint64(i.Total_retrans)
		if i.Rtt > 0 {
			s.last.RttMs = metric.N(float64(i.Rtt) / 1e3)
		}
	}
	return s.last
}

// Close ends it and keeps the final count.
func (s *TCPSender) Close() error {
	s.halt()
	s.Tx()
	return s.thread.Close()
}

// TCPReceiver reads into one buffer again and again: a real copy, as an application would make.
type TCPReceiver struct {
	thread
	buf  []byte
	read atomic.Uint64
}

// NewTCPReceiver takes over the connected socket fd. Each read is of up to size bytes.
func NewTCPReceiver(fd, size int) (*TCPReceiver, error) {
	if err := setTimeout(fd, unix.SO_RCVTIMEO, turn); err != nil {
		return nil, err
	}
	r := &TCPReceiver{buf: make([]byte, size)}
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

// tcpInfo reads TCP_INFO. The structure grows from kernel to kernel: an older one returns less, and is not believed
// about what it left out.
func tcpInfo(fd int) (unix.TCPInfo, bool) {
	var i unix.TCPInfo
	n := uint32(unsafe.Sizeof(i))
	_, _, e := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&i)), uintptr(unsafe.Pointer(&n)), 0)
	return i, e == 0 && uintptr(n) >= unsafe.Offsetof(i.Bytes_acked)+unsafe.Sizeof(i.Bytes_acked)
}
