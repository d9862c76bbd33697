package flow

import (
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pipeSize is asked of the kernel for the pipe of a [vmsplice], in bytes: the default of fs.pipe-max-size, which an
// ordinary user gets as well. Where the user's pages are used up the pipe stays as it is made, 64 KiB.
const pipeSize = 1 << 20

// leastLent is the fewest bytes that a [vmsplice] lends at once: lending costs by the call and not by the byte, and half as
// much carried a fifth less.
const leastLent = 256 << 10

// vmsplice lends the pages of one buffer to a pipe, and moves them from there to the socket.
type vmsplice struct {
	*pages
	size    int // of a whole write
	in, out int // the pipe's ends
	iov     unix.Iovec
	room    int // bytes the pipe takes
	held    int // bytes in the pipe
	once    sync.Once
}

func newVmsplice(size int) (*vmsplice, error) {
	p, err := newPages(max(size, leastLent))
	if err != nil {
		return nil, err
	}
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		p.close()
		return nil, os.NewSyscallError("pipe2", err)
	}
	v := &vmsplice{pages: p, size: size, out: ends[0], in: ends[1]}
	if v.room, err = unix.FcntlInt(uintptr(v.in), unix.F_SETPIPE_SZ, pipeSize); err != nil {
		v.room, err = unix.FcntlInt(uintptr(v.in), unix.F_GETPIPE_SZ, 0)
	}
	if err == nil {
		v.iov.Base = &p.buf[0]
		err = v.fill() // so that a kernel that has no vmsplice says so now
	}
	if err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// fill lends the buffer to the pipe once more, or the part of it that there is room for.
func (v *vmsplice) fill() error {
	v.iov.SetLen(min(len(v.buf), v.room-v.held))
	n, _, e := unix.RawSyscall6(unix.SYS_VMSPLICE, uintptr(v.in), uintptr(unsafe.Pointer(&v.iov)), 1, unix.SPLICE_F_NONBLOCK, 0, 0)
	if e != 0 {
		return os.NewSyscallError("vmsplice", e)
	}
	v.held += int(n)
	return nil
}

func (v *vmsplice) write(fd, n int) (int, error) {
	if v.held == 0 {
		if err := v.fill(); err != nil {
			return 0, err
		}
	}
	if n == v.size { // it is not paced
		n = v.held
	}
	moved, _, e := unix.RawSyscall6(unix.SYS_SPLICE, uintptr(v.out), 0, uintptr(fd), 0, uintptr(min(n, v.held)), unix.SPLICE_F_MOVE)
	n, err := count(moved, e)
	v.held -= n
	return n, err
}

func (v *vmsplice) close() {
	v.once.Do(func() {
		_ = unix.Close(v.in) // a pipe has nothing to lose
		_ = unix.Close(v.out)
	})
	v.pages.close()
}
