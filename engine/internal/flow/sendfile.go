package flow

import (
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sendfile sends the pages of a file that is in memory only.
type sendfile struct {
	file   int
	offset int64
	once   sync.Once
}

func newSendfile(size int) (*sendfile, error) {
	fd, err := unix.MemfdCreate("ethtune-load", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	s := &sendfile{file: fd}
	if n, err := unix.Write(fd, constant(make([]byte, size))); err != nil || n < size {
		s.close()
		return nil, os.NewSyscallError("write memfd", err)
	}
	return s, nil
}

func (s *sendfile) write(fd, n int) (int, error) {
	s.offset = 0
	sent, _, e := unix.RawSyscall6(unix.SYS_SENDFILE, uintptr(fd), uintptr(s.file), uintptr(unsafe.Pointer(&s.offset)),
		uintptr(n), 0, 0)
	return count(sent, e)
}

func (s *sendfile) close() {
	s.once.Do(func() { _ = unix.Close(s.file) }) // what was in it is of no use to anyone
}
