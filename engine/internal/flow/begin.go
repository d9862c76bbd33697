package flow

import (
	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// unpaced is a congestion control that every kernel has and that has it pace nothing.
const unpaced = "reno"

// BeginUnpaced has the connections of fd, which is going to listen, begin unpaced where the kernel's own choice would pace
// them: they are established before anybody can choose for them, and once paced a socket stays so, see
// [metric.Spec.Unpaces]. [KernelCongestion] is for those that the kernel's choice is meant for.
func BeginUnpaced(fd int) {
	if metric.Paces(congestion(fd)) {
		_ = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, unpaced)
	}
}

// KernelCongestion gives fd, which such a listener accepted, the kernel's own choice of now. Where a route has chosen another
// it stays.
func KernelCongestion(fd int) {
	if congestion(fd) != unpaced {
		return
	}
	fresh, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fresh)
	if c := congestion(fresh); c != "" {
		_ = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, c)
	}
}

// congestion is what fd has; empty where the kernel does not say.
func congestion(fd int) string {
	c, _ := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	return c
}
