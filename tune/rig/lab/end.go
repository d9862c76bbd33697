package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/ethtune/ethtune/tune/rig"
	"github.com/ethtune/ethtune/tune/rig/agent"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// farFD is where the near agent finds the far one's stream: the first of its ExtraFiles.
const farFD = 3

// RunEnd is the life of a lab agent, called in the process that [Open] started: it makes its namespaces private, the
// near one makes the far agent and the veth pair, and both serve on standard input and output until the stream ends.
func RunEnd(ctx context.Context, which, version string) error {
	if which != "near" && which != "far" {
		return fmt.Errorf("%w: a lab has the ends near and far, not %q", rig.ErrInput, which)
	}
	interfaces, err := net.Interfaces()
	if err == nil {
		err = fresh(int(os.Stdin.Fd()), interfaces)
	}
	if err != nil {
		return agent.Fatal(os.Stdout, err)
	}
	dev, finish := FarDevice, func() {}
	if which == "near" {
		dev = NearDevice
		finish, err = setUp()
	} else if err = privateMounts(); err == nil {
		err = awaitLink(ctx, dev)
	}
	defer finish()
	// The stream ends before the wait for the other agent, so that nobody waits for both.
	defer func() { _ = errors.Join(os.Stdin.Close(), os.Stdout.Close()) }()
	if err != nil {
		return agent.Fatal(os.Stdout, err)
	}
	r, err := agent.NewLocal(agent.Options{Version: version, Device: dev})
	if err != nil {
		return agent.Fatal(os.Stdout, err)
	}
	return agent.Serve(ctx, os.Stdin, os.Stdout, r)
}

// fresh refuses to be an end of a lab where something runs already: what it does to mounts and interfaces must reach
// nobody else. [Open] gives an end a socket as standard input and a network namespace of its own, in which nothing is up but
// what the near end has made since. Numbers of namespaces are not compared: a kernel was seen to give two living ones the
// same (2026-11, Linux 6.18).
func fresh(stdin int, interfaces []net.Interface) error {
	domain, err := unix.GetsockoptInt(stdin, unix.SOL_SOCKET, unix.SO_DOMAIN)
	ours := err == nil && domain == unix.AF_UNIX
	for _, i := range interfaces {
		if i.Flags&net.FlagUp != 0 && i.Name != "lo" && i.Name != FarDevice {
			ours = false
		}
	}
	if !ours {
		return fmt.Errorf("%w: agent --lab is started by ethtune lab, in namespaces of its own", rig.ErrInput)
	}
	return nil
}

// setUp is the near end's part. What it returns waits for the far agent, so that the near one is the last to go.
func setUp() (finish func(), err error) {
	finish = func() {}
	if err := privateMounts(); err != nil {
		return finish, err
	}
	far, err := startFar()
	if err != nil {
		return finish, err
	}
	finish = func() {
		gone := make(chan struct{})
		go func() { far.Wait(); close(gone) }()
		select {
		case <-gone:
		case <-time.After(endWithin - time.Second):
		}
	}
	return finish, makePair(far.Process.Pid)
}

// privateMounts makes every mount private, so that nothing reaches the host's tree, and then mounts a sysfs of this
// network namespace: /sys/class/net belongs to whoever mounted it. A kernel that refuses the second is no error, the
// host's sysfs is then hidden from nobody and used by nobody.
func privateMounts() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return permission("make / private", err)
	}
	_ = unix.Mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	return nil
}

// startFar starts the far agent as this program is started, with the last argument "far", in its own network and mount
// namespaces and this process's user namespace.
func startFar() (*exec.Cmd, error) {
	stream := os.NewFile(farFD, "far stream")
	defer stream.Close()
	args := append([]string(nil), os.Args[1:len(os.Args)-1]...)
	cmd := exec.Command("/proc/self/exe", append(args, "far")...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stream, stream, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, permission("second network namespace", err)
	}
	return cmd, nil
}

// makePair makes the veth pair between this namespace and that of process pid, with addresses, and sets both up.
func makePair(pid int) error {
	attrs := netlink.NewLinkAttrs() // its zero value, and that of PeerTxQLen, ask for a transmit queue of no length
	attrs.Name = NearDevice
	veth := &netlink.Veth{
		LinkAttrs:     attrs,
		PeerTxQLen:    -1,
		PeerName:      FarDevice,
		PeerNamespace: netlink.NsPid(pid),
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return permission("veth pair", err)
	}
	ns, err := netns.GetFromPid(pid)
	if err != nil {
		return permission("far network namespace", err)
	}
	defer ns.Close()
	there, err := netlink.NewHandleAt(ns)
	if err != nil {
		return permission("far network namespace", err)
	}
	defer there.Close()
	here, err := netlink.NewHandle()
	if err != nil {
		return err
	}
	defer here.Close()
	if err := address(there, FarDevice, farIPv4, farIPv6); err != nil {
		return err
	}
	return address(here, NearDevice, nearIPv4, nearIPv6)
}

// address gives dev its addresses and sets it and lo up. IPv6 may be switched off in the kernel; IPv4 may not.
func address(h *netlink.Handle, dev, v4, v6 string) error {
	lo, err := h.LinkByName("lo")
	if err != nil {
		return err
	}
	if err := h.LinkSetUp(lo); err != nil {
		return permission("set lo up", err)
	}
	link, err := h.LinkByName(dev)
	if err != nil {
		return fmt.Errorf("%s: %w", dev, err)
	}
	if err := h.AddrAdd(link, &netlink.Addr{IPNet: &net.IPNet{IP: net.ParseIP(v4), Mask: net.CIDRMask(30, 32)}}); err != nil {
		return permission(dev+": address", err)
	}
	if err := h.LinkSetUp(link); err != nil {
		return permission(dev+": set up", err)
	}
	_ = h.AddrAdd(link, &netlink.Addr{
		IPNet: &net.IPNet{IP: net.ParseIP(v6), Mask: net.CIDRMask(64, 128)}, Flags: unix.IFA_F_NODAD,
	})
	return nil
}

// awaitLink waits until the near end has made dev, which it does at once or never.
func awaitLink(ctx context.Context, dev string) error {
	ctx, cancel := context.WithTimeout(ctx, endWithin)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		l, err := netlink.LinkByName(dev)
		if err == nil && l.Attrs().Flags&net.FlagUp != 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s did not appear within %v", dev, endWithin)
		}
	}
}

// permission wraps what the kernel refused for want of a right as [rig.ErrPermission].
func permission(what string, err error) error {
	if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("%w: %s: %w", rig.ErrPermission, what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}
