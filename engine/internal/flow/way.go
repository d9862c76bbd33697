package flow

import (
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// way is how a sender's bytes come into the kernel.
type way interface {
	// write hands over up to n bytes, which is no more than the way was made for, and returns how many. It waits for the
	// socket's [turn] at most, without a word to the Go scheduler, see the package comment.
	write(fd, n int) (int, error)
	// close lets go of the buffer. It may be called more than once.
	close()
}

// newWay makes the way called name for writes of size bytes to the socket fd.
func newWay(name string, fd, size int) (way, error) {
	var w way
	var err error
	switch name {
	case metric.Vmsplice:
		w, err = newVmsplice(size)
	case metric.Sendfile:
		w, err = newSendfile(size)
	case metric.ZeroCopy:
		w, err = newZeroCopy(fd, size)
	default:
		w = &sendto{constant(make([]byte, size))}
	}
	if err != nil {
		return nil, fmt.Errorf("send by %s: %w", name, err)
	}
	return w, nil
}

// constant fills b with what is sent: never changed again, since the kernel may read it at any time.
func constant(b []byte) []byte {
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// sendto copies one buffer, as an application would.
type sendto struct{ buf []byte }

func (s *sendto) write(fd, n int) (int, error) { return s.send(fd, n, unix.MSG_NOSIGNAL) }
func (s *sendto) close()                       {}

func (s *sendto) send(fd, n int, flags uintptr) (int, error) {
	sent, _, e := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&s.buf[0])), uintptr(n), flags, 0, 0)
	return count(sent, e)
}

// count is what a system call that moves bytes returned.
func count(n uintptr, e unix.Errno) (int, error) {
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// pages is memory that the kernel may still be sending when the stream is long gone: none of the Go heap, where it would
// be given to something else, and that would go out instead.
type pages struct {
	buf  []byte
	once sync.Once
}

func newPages(size int) (*pages, error) {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return &pages{buf: constant(b)}, nil
}

func (p *pages) close() {
	p.once.Do(func() { _ = unix.Munmap(p.buf) }) // it fails for no memory that came of Mmap
}
