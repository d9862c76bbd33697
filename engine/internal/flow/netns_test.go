package flow

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// need skips the test where ok is false, or fails it where the environment demands that everything runs.
func need(t testing.TB, ok bool, reason string) {
	t.Helper()
	if ok {
		return
	}
	if os.Getenv("ETHTUNE_REQUIRE") == "all" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// veth is two network namespaces with a veth pair between them, both open in this process. Sockets stay in the namespace
// they were made in, so only a thread that makes one has to be there.
type veth struct {
	near, far *os.File
}

var (
	nearIP = netip.MustParseAddr("10.77.1.1")
	farIP  = netip.MustParseAddr("10.77.1.2")
)

const (
	farDev            = "etf0"
	nearPort, farPort = 4001, 4002
)

// newVeth makes the pair. It is over with the test.
func newVeth(t testing.TB) *veth {
	t.Helper()
	_, err := exec.LookPath("ip")
	need(t, err == nil, "needs ip of iproute2 to make a veth pair")
	need(t, os.Geteuid() == 0, "needs root for network namespaces")
	v := &veth{near: newNamespace(t), far: newNamespace(t)}
	far := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), v.far.Fd())
	v.in(t, v.near, func() {
		ip(t, "link add etn0 type veth peer name "+farDev+" netns "+far)
		ip(t, "addr add "+nearIP.String()+"/24 dev etn0")
		ip(t, "link set etn0 up")
	})
	v.in(t, v.far, func() {
		ip(t, "addr add "+farIP.String()+"/24 dev "+farDev)
		ip(t, "link set "+farDev+" up")
	})
	return v
}

// apart runs f on a thread that ends with it, whatever namespace it went to.
func apart(t testing.TB, f func() error) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		done <- f()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func newNamespace(t testing.TB) *os.File {
	t.Helper()
	var f *os.File
	apart(t, func() (err error) {
		if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
			f, err = os.Open("/proc/thread-self/ns/net")
		}
		return err
	})
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// in runs f in the namespace ns. What f reports must not end the test from its goroutine.
func (v *veth) in(t testing.TB, ns *os.File, f func()) {
	t.Helper()
	apart(t, func() error {
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			return err
		}
		f()
		return nil
	})
}

func ip(t testing.TB, args string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
		t.Errorf("ip %s: %v\n%s", args, err, out)
	}
}

// sockets are two connected UDP sockets, one at each end. The descriptors are the caller's.
func (v *veth) sockets(t testing.TB) (near, far int) {
	t.Helper()
	dial := func(ns *os.File, local, peer netip.AddrPort) (fd int) {
		v.in(t, ns, func() {
			var err error
			if fd, err = DialUDP(local, peer, metric.Socket{}); err != nil {
				t.Error(err)
			}
		})
		return fd
	}
	a, b := netip.AddrPortFrom(nearIP, nearPort), netip.AddrPortFrom(farIP, farPort)
	near, far = dial(v.near, a, b), dial(v.far, b, a)
	if t.Failed() {
		t.FailNow()
	}
	return near, far
}
