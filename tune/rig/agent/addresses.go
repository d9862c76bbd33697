package agent

import (
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/tune/knob"
)

// addresses puts back the IPv6 addresses of an interface that a turn of its MTU took. The kernel drops them all when the
// MTU falls below 1280 bytes, IPv6's least, and by itself makes only the link-local one again when it rises
// (net/ipv6/addrconf.c, addrconf_notify, NETDEV_CHANGEMTU).
type addresses struct {
	dev string
	nl  *netlink.Handle

	mu   sync.Mutex
	gone []netlink.Addr
}

// newAddresses looks after dev in the caller's network namespace. Free it with nl.Close.
func newAddresses(dev string) (*addresses, error) {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	return &addresses{dev: dev, nl: h}, nil
}

// around makes a turn and lets its result say what it took, and what of that could be put back after it.
func (a *addresses) around(turn func() ([]knob.Result, error)) ([]knob.Result, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.list()
	res, err := turn()
	after := a.list()
	said := a.putBack()
	var took []string
	for _, was := range before {
		if !slices.ContainsFunc(after, was.Equal) {
			a.gone = append(a.gone, was)
			took = append(took, was.IPNet.String())
		}
	}
	if len(took) > 0 {
		said = append(said, "it took the IPv6 address "+strings.Join(took, " and ")+", which comes back with an MTU of 1280 or more")
	}
	if n := len(res); n > 0 && len(said) > 0 {
		r := &res[n-1]
		if r.Reason != "" {
			said = slices.Insert(said, 0, r.Reason)
		}
		r.Reason = strings.Join(said, "; ")
	}
	return res, err
}

// list is the addresses that would not come back by themselves. None can be read where the interface is gone.
func (a *addresses) list() []netlink.Addr {
	link, err := a.nl.LinkByName(a.dev)
	if err != nil {
		return nil
	}
	all, err := a.nl.AddrList(link, netlink.FAMILY_V6)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(x netlink.Addr) bool {
		return x.Flags&unix.IFA_F_PERMANENT == 0 || x.Scope == int(netlink.SCOPE_LINK)
	})
}

// putBack tries to add what is gone, and says what it did. What the kernel does not take yet is tried after the next turn.
func (a *addresses) putBack() []string {
	link, err := a.nl.LinkByName(a.dev)
	if err != nil {
		return nil
	}
	var said []string
	a.gone = slices.DeleteFunc(a.gone, func(x netlink.Addr) bool {
		again := &netlink.Addr{IPNet: &net.IPNet{IP: x.IP, Mask: x.Mask}, Flags: x.Flags &^ unix.IFA_F_PERMANENT}
		if a.nl.AddrReplace(link, again) != nil {
			return false
		}
		said = append(said, "the IPv6 address "+x.IPNet.String()+" was put back")
		return true
	})
	return said
}
