package agent

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/tune/knob"
)

// need skips the test where ok is false, or fails it where the environment demands that everything runs.
func need(t *testing.T, ok bool, reason string) {
	t.Helper()
	if ok {
		return
	}
	if os.Getenv("ETHTUNE_REQUIRE") == "all" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// What an MTU too small for IPv6 takes from an interface is back with one that is not, and both turns say so.
func TestAddressesOfALowMTU(t *testing.T) {
	need(t, os.Geteuid() == 0, "needs root for a network namespace")
	runtime.LockOSThread() // never unlocked, so that the thread and its namespace end with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		need(t, false, "cannot make a network namespace: "+err.Error())
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "etn0"
	veth := &netlink.Veth{LinkAttrs: attrs, PeerName: "etf0"}
	if err := netlink.LinkAdd(veth); err != nil {
		t.Fatal(err)
	}
	const want = "fd00:1::1/64"
	addr, err := netlink.ParseAddr(want)
	if err != nil {
		t.Fatal(err)
	}
	addr.Flags = unix.IFA_F_NODAD
	if err := errors.Join(netlink.LinkSetUp(veth), netlink.AddrAdd(veth, addr)); err != nil {
		need(t, false, "this kernel has no IPv6: "+err.Error())
	}
	a, err := newAddresses("etn0")
	if err != nil {
		t.Fatal(err)
	}
	defer a.nl.Close()
	for _, s := range []struct {
		mtu  int
		has  bool
		says string
	}{
		{1400, true, ""},
		{1000, false, "took the IPv6 address " + want},
		{1100, false, ""},
		{1500, true, want + " was put back"},
		{1000, false, "took the IPv6 address " + want},
		{9000, true, want + " was put back"},
	} {
		res, err := a.around(func() ([]knob.Result, error) {
			return []knob.Result{{Outcome: knob.Applied}}, a.nl.LinkSetMTU(veth, s.mtu)
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := res[0].Reason; !strings.Contains(got, s.says) || s.says == "" && got != "" {
			t.Errorf("mtu %d says %q, want %q", s.mtu, got, s.says)
		}
		has := false
		for _, x := range a.list() {
			has = has || x.IPNet.String() == want
		}
		if has != s.has {
			t.Errorf("mtu %d: the address is there: %v", s.mtu, has)
		}
	}
}
