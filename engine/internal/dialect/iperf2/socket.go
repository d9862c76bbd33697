package iperf2

import (
	"os"

	"golang.org/x/sys/unix"
)

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
