package flow

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// drainEvery is how many writes go by before the notifications about them are taken away; drainMost bounds how many are
// taken at once. One notification may stand for many writes, so what is left over does not grow.
const (
	drainEvery = 64
	drainMost  = 64
)

// zeroCopy has the kernel send from the buffer itself (MSG_ZEROCOPY). The buffer never changes, so nobody waits until it is
// free again: the notifications are taken off the error queue only because they fill the socket's option memory.
type zeroCopy struct {
	sendto
	mem    *pages
	writes int
	msg    unix.Msghdr // asks for no address and no control data: only that a notification goes
}

func newZeroCopy(fd, size int) (*zeroCopy, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ZEROCOPY, 1); err != nil {
		return nil, os.NewSyscallError("setsockopt SO_ZEROCOPY", err)
	}
	p, err := newPages(size)
	if err != nil {
		return nil, err
	}
	return &zeroCopy{sendto: sendto{p.buf}, mem: p}, nil
}

func (z *zeroCopy) write(fd, n int) (int, error) {
	n, err := z.send(fd, n, unix.MSG_NOSIGNAL|unix.MSG_ZEROCOPY)
	full := err == unix.ENOBUFS // net.core.optmem_max is used up
	if z.writes++; z.writes >= drainEvery || full {
		z.writes = 0
		if z.drain(fd) == 0 && full {
			now := Mono()
			nap(now, now+rawNap)
		}
	}
	if full {
		err = unix.EAGAIN
	}
	return n, err
}

// drain takes notifications away and returns how many.
func (z *zeroCopy) drain(fd int) int {
	for n := range drainMost {
		_, _, e := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&z.msg)), unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
		if e != 0 {
			return n
		}
	}
	return drainMost
}

func (z *zeroCopy) close() { z.mem.close() }
