package flow

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// leastRead is the fewest bytes that a read has room for: fewer calls than iperf3's 128 KiB, and four streams' buffers still
// stay in a processor's own cache. Of 128, 256 and 512 KiB one stream on a veth pair carried a median of 46.6, 49.5 and 48.5
// Gbit/s, four of them 87.6, 86.5 and 83.2 (8 rounds).
const leastRead = 256 << 10

// TCPReceiver reads into one buffer again and again: a real copy, as an application would make. Where the bytes are to be
// skipped there is no buffer, and the kernel throws them away (tcp(7), MSG_TRUNC).
type TCPReceiver struct {
	tcp
	buf   []byte // nil where the bytes are skipped
	size  int
	flags uintptr
	read  atomic.Uint64
}

// NewTCPReceiver takes over the connected socket fd, unless there is an error. Each read is of up to c.Size bytes, or of more.
func NewTCPReceiver(fd int, c Config) (*TCPReceiver, error) {
	if err := setTimeout(fd, unix.SO_RCVTIMEO, turn); err != nil {
		return nil, err
	}
	r := &TCPReceiver{size: max(c.Size, leastRead)}
	if c.Calls.SkipCopy {
		r.size, r.flags = metric.MaxTCPSize, unix.MSG_TRUNC
	} else {
		r.buf = make([]byte, r.size)
	}
	r.own(fd, c.Calls.Affinity, r.receive)
	return r, nil
}

func (r *TCPReceiver) receive() error {
	var sum uint64
	for !r.stop.Load() {
		r.serve()
		n, err := r.take()
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

// take is one recvfrom(2). It waits for the socket's [turn] at most, without a word to the Go scheduler, see the package
// comment.
func (r *TCPReceiver) take() (int, error) {
	n, _, e := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(r.fd), uintptr(unsafe.Pointer(unsafe.SliceData(r.buf))),
		uintptr(r.size), r.flags, 0, 0)
	return count(n, e)
}

// Rx is what was read. TCP has no jitter of its own.
func (r *TCPReceiver) Rx(*metric.Hist) Rx { return Rx{Bytes: r.read.Load()} }

// Aim has nothing to give to a receiver of TCP: how it reads is for its life, and where it runs is Place's.
func (r *TCPReceiver) Aim(int64, metric.Calls) error { return nil }

// Finish ends it.
func (r *TCPReceiver) Finish(uint64) (Rx, error) {
	err := r.Close()
	return r.Rx(nil), err
}
