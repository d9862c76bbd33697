package iperf2

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// detach takes the connection out of Go's poller: it returns a blocking descriptor of its own, the caller's to close,
// and closes c.
func detach(c *net.TCPConn, nodelay bool) (int, error) {
	defer c.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	var dupErr error
	if err = raw.Control(func(orig uintptr) { fd, dupErr = duplicate(int(orig)) }); err == nil {
		err = dupErr
	}
	if err != nil {
		return -1, fmt.Errorf("take over connection: %w", err)
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		_ = unix.Close(fd)
		return -1, os.NewSyscallError("fcntl O_NONBLOCK", err)
	}
	// Go switches Nagle off, which iperf leaves on.
	on := 0
	if nodelay {
		on = 1
	}
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, on); err != nil {
		_ = unix.Close(fd)
		return -1, os.NewSyscallError("setsockopt TCP_NODELAY", err)
	}
	return fd, nil
}

// duplicate is a second descriptor of fd's socket, the caller's to close.
func duplicate(fd int) (int, error) {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	return dup, os.NewSyscallError("fcntl F_DUPFD_CLOEXEC", err)
}

// readable waits until fd has something to read, or is at its end, for so many milliseconds. A false with an error is what
// the kernel has heard of the peer.
func readable(fd int, ms int) (bool, error) {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, ms)
	if err != nil || n == 0 || p[0].Revents&unix.POLLIN != 0 {
		return err == nil && n > 0, nil
	}
	if e, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR); err == nil && e != 0 {
		return false, unix.Errno(e)
	}
	return false, unix.EPIPE
}

// hush has a UDP socket keep no queue of the errors it hears of, with which every wait would end at once. An error is
// then the answer to one call.
func hush(fd int) {
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_RECVERR, 0)
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVERR, 0)
}
