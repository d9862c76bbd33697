package flow

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Detach takes the connection out of Go's poller: it returns a blocking descriptor of its own, the caller's to close,
// and closes c.
func Detach(c *net.TCPConn) (int, error) {
	defer c.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	var dupErr error
	err = raw.Control(func(orig uintptr) { fd, dupErr = unix.FcntlInt(orig, unix.F_DUPFD_CLOEXEC, 0) })
	if err == nil {
		err = dupErr
	}
	if err != nil {
		return -1, fmt.Errorf("take over connection: %w", err)
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		return -1, closeOn(fd, os.NewSyscallError("fcntl O_NONBLOCK", err))
	}
	// Go switches Nagle off, which the load's other end and every peer program leave on.
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 0); err != nil {
		return -1, closeOn(fd, os.NewSyscallError("setsockopt TCP_NODELAY", err))
	}
	return fd, nil
}
