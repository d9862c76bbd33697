package nic

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// RouteTo is the interface that carries traffic to ip, as the kernel's routing says now (rtnetlink RTM_GETROUTE). Where
// there is no route the error has the kernel's words.
func RouteTo(ip netip.Addr) (dev string, err error) {
	ip = ip.Unmap()
	c, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return "", fmt.Errorf("routes: %w", err)
	}
	defer c.Close()
	family, bits := byte(unix.AF_INET), byte(32)
	if ip.Is6() {
		family, bits = unix.AF_INET6, 128
	}
	// struct rtmsg (include/uapi/linux/rtnetlink.h): family, dst_len, and what is left to the kernel.
	head := make([]byte, unix.SizeofRtMsg)
	head[0], head[1] = family, bits
	attrs := netlink.NewAttributeEncoder()
	attrs.Bytes(unix.RTA_DST, ip.AsSlice())
	body, err := attrs.Encode()
	if err != nil {
		return "", err
	}
	answers, err := c.Execute(netlink.Message{
		Header: netlink.Header{Type: unix.RTM_GETROUTE, Flags: netlink.Request},
		Data:   append(head, body...),
	})
	if err != nil {
		return "", fmt.Errorf("route to %s: %w", ip, err)
	}
	for _, a := range answers {
		if i, ok := parseRoute(a.Data); ok {
			ifi, err := net.InterfaceByIndex(int(i))
			if err != nil {
				return "", fmt.Errorf("route to %s: interface %d: %w", ip, i, err)
			}
			return ifi.Name, nil
		}
	}
	return "", fmt.Errorf("route to %s: the kernel names no interface", ip)
}

// parseRoute reads the outgoing interface of a route.
func parseRoute(data []byte) (index uint32, ok bool) {
	if len(data) < unix.SizeofRtMsg {
		return 0, false
	}
	attrs, err := netlink.NewAttributeDecoder(data[unix.SizeofRtMsg:])
	if err != nil {
		return 0, false
	}
	for attrs.Next() {
		if attrs.Type() == unix.RTA_OIF && len(attrs.Bytes()) == 4 {
			return binary.NativeEndian.Uint32(attrs.Bytes()), true
		}
	}
	return 0, false
}

// Lower is the interfaces that dev, a VLAN, bridge or bond, stands on; empty for one that stands on none.
func Lower(dev string) []string {
	links, err := filepath.Glob(filepath.Join("/sys/class/net", filepath.Base(dev), "lower_*"))
	if err != nil {
		return nil
	}
	for i, l := range links {
		links[i] = strings.TrimPrefix(filepath.Base(l), "lower_")
	}
	return links
}
