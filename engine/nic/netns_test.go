package nic

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// need skips a test whose ground is missing, or fails it where everything is required to be there.
func need(t *testing.T, ok bool, reason string) {
	t.Helper()
	switch {
	case ok:
	case os.Getenv("ETHTUNE_REQUIRE") == "all":
		t.Fatal(reason)
	default:
		t.Skip(reason)
	}
}

// inNetns moves the test's thread into a network namespace of its own with a veth pair etn0, etf0 and returns a Client of
// it. The thread stays locked, so it ends with the test, and the namespace with it.
func inNetns(t *testing.T) *Client {
	t.Helper()
	_, err := exec.LookPath("ip")
	need(t, err == nil, "needs ip to make a veth pair")
	runtime.LockOSThread()
	err = unix.Unshare(unix.CLONE_NEWNET)
	need(t, err == nil, "needs the right to make a network namespace")
	if out, err := exec.Command("ip", "link", "add", "etn0", "type", "veth", "peer", "name", "etf0").CombinedOutput(); err != nil {
		t.Fatalf("ip link add: %v\n%s", err, out)
	}
	c, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	_, netlinked := c.way.(*genetlinkWay)
	need(t, netlinked || os.Getenv(wayEnv) == "ioctl", "needs a kernel with ethtool netlink")
	return c
}

func feature(t *testing.T, c *Client, name string) Feature {
	t.Helper()
	features, err := c.Features("etn0")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range features {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("the kernel has no %s", name)
	return Feature{}
}

func TestFeaturesOfVeth(t *testing.T) {
	c := inNetns(t)
	for _, v := range []bool{true, false} {
		if err := c.SetFeatures("etn0", map[string]bool{"rx-gro": v, "tx-nocache-copy": v}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"rx-gro", "tx-nocache-copy"} {
			if f := feature(t, c, name); f.Active != v || f.Wanted != v || !f.Changeable() {
				t.Errorf("asked for %v: %+v", v, f)
			}
		}
	}
	if f := feature(t, c, "rx-lro"); f.Changeable() {
		t.Errorf("lro of a veth: %+v", f)
	}
	// The kernel says nothing about a bit that is fixed: only reading tells.
	if err := c.SetFeatures("etn0", map[string]bool{"rx-lro": true}); err != nil {
		t.Errorf("a fixed bit: %v", err)
	}
	if err := c.SetFeatures("etn0", map[string]bool{"tx-checksum-ip-generic": false}); err != nil {
		t.Fatal(err)
	}
	if f := feature(t, c, "tx-tcp-segmentation"); f.Active || !f.Wanted {
		t.Errorf("kept off: %+v", f)
	}
}

func TestLinkOfVeth(t *testing.T) {
	c := inNetns(t)
	if err := errors.Join(c.SetMTU("etn0", 9000), c.SetTxQueueLen("etn0", 77)); err != nil {
		t.Fatal(err)
	}
	l, err := c.Link("etn0")
	if err != nil || l.Name != "etn0" || l.MTU != 9000 || l.TxQueueLen != 77 || l.MinMTU != 68 || l.Index == 0 {
		t.Errorf("%+v, %v", l, err)
	}
	if d, err := c.Driver("etn0"); d != "veth" || err != nil {
		t.Errorf("driver %q, %v", d, err)
	}
}

func TestErrorsKeepTheKernelsWords(t *testing.T) {
	c := inNetns(t)
	nobody := "no device matches name"
	if _, ok := c.way.(ioctlWay); ok {
		nobody = "no such device" // the ioctl has numbers and no words
	}
	for _, tt := range []struct {
		name string
		err  error
		text string
		is   error
	}{
		{"mtu", c.SetMTU("etn0", 1), "etn0: set mtu: mtu less than device minimum", unix.EINVAL},
		{"bit", c.SetFeatures("etn0", map[string]bool{"no-such-bit": true}), "etn0: set features: bit name not found", unix.EOPNOTSUPP},
		{"no interface", c.SetMTU("nosuchif0", 1500), "nosuchif0: set mtu: no such device", os.ErrNotExist},
		{"no interface for features", second(c.Features("nosuchif0")), "nosuchif0: read features: " + nobody, os.ErrNotExist},
		{"no interface for the driver", second(c.Driver("nosuchif0")), "nosuchif0: read driver: no such device", os.ErrNotExist},
		{"long name", c.SetMTU("a-name-too-long-0", 1500), "a-name-too-long-0: set mtu: an interface's name has 1 to 15 characters, and no / : or space", errName},
	} {
		if tt.err == nil || tt.err.Error() != tt.text || !errors.Is(tt.err, tt.is) {
			t.Errorf("%s: %v", tt.name, tt.err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestErrorMeaning(t *testing.T) {
	for errno, want := range map[unix.Errno]error{
		unix.EPERM: os.ErrPermission, unix.EACCES: os.ErrPermission,
		unix.EOPNOTSUPP: errors.ErrUnsupported, unix.ENODEV: os.ErrNotExist,
	} {
		if err := refused("set", "eth0", errno); !errors.Is(err, want) {
			t.Errorf("%v is not %v", err, want)
		}
	}
	if refused("set", "eth0", nil) != nil {
		t.Error("nothing was refused")
	}
}

// TestClientStaysInItsNamespace: the sockets belong where they were opened, whichever thread uses them.
func TestClientStaysInItsNamespace(t *testing.T) {
	c := inNetns(t)
	done := make(chan error)
	go func() {
		_, err := c.Link("etn0")
		_, err2 := c.Driver("etn0")
		done <- errors.Join(err, err2)
	}()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestClosedClientFails(t *testing.T) {
	c, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	_, err1 := c.Link("lo")
	_, err2 := c.Features("lo")
	_, err3 := c.Driver("lo")
	for _, err := range []error{err1, err2, err3} {
		if err == nil {
			t.Errorf("after Close: %v", err)
		}
	}
}

func TestRxMissed(t *testing.T) {
	c := inNetns(t)
	if n, err := c.RxMissed("etn0"); err != nil || n != 0 {
		t.Errorf("%d %v", n, err)
	}
	if _, err := c.RxMissed("none"); !errors.Is(err, unix.ENODEV) {
		t.Errorf("no interface: %v", err)
	}
}
