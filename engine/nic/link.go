package nic

import (
	"encoding/binary"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Link is what rtnetlink says about an interface.
type Link struct {
	Name       string
	Index      int
	MTU        uint32 // bytes
	MinMTU     uint32 // bytes; 0 = the kernel (before 4.19) does not say
	MaxMTU     uint32 // bytes; 0 = no limit, or the kernel does not say
	TxQueueLen uint32 // packets
}

// skipStats is RTEXT_FILTER_SKIP_STATS of include/uapi/linux/rtnetlink.h: an answer without counters nobody asked for.
const skipStats = 1 << 3

// Link reads the interface.
func (c *Client) Link(dev string) (Link, error) {
	msgs, err := c.route(unix.RTM_GETLINK, netlink.Request, dev, unix.IFLA_EXT_MASK, skipStats)
	if err != nil {
		return Link{}, refused("read link", dev, err)
	}
	if len(msgs) != 1 {
		return Link{}, fmt.Errorf("%s: read link: %d replies where one was due", dev, len(msgs))
	}
	l, err := parseLink(msgs[0].Data)
	if err != nil {
		return Link{}, fmt.Errorf("%s: read link: %w", dev, err)
	}
	return l, nil
}

// SetMTU asks for an MTU in bytes. Drivers may take the link down for it and drop features above a size.
func (c *Client) SetMTU(dev string, mtu uint32) error {
	_, err := c.route(unix.RTM_SETLINK, netlink.Request|netlink.Acknowledge, dev, unix.IFLA_MTU, mtu)
	return refused("set mtu", dev, err)
}

// SetTxQueueLen asks for a length of the transmit queue in packets.
func (c *Client) SetTxQueueLen(dev string, packets uint32) error {
	_, err := c.route(unix.RTM_SETLINK, netlink.Request|netlink.Acknowledge, dev, unix.IFLA_TXQLEN, packets)
	return refused("set tx_queue_len", dev, err)
}

// route sends one link request with one attribute. The interface is named and its index left 0: with both, the kernel
// would take the name for a new one.
func (c *Client) route(typ netlink.HeaderType, flags netlink.HeaderFlags, dev string, attr uint16, v uint32) ([]netlink.Message, error) {
	if err := checkName(dev); err != nil {
		return nil, err
	}
	ae := netlink.NewAttributeEncoder()
	ae.String(unix.IFLA_IFNAME, dev)
	ae.Uint32(attr, v)
	attrs, err := ae.Encode()
	if err != nil {
		return nil, err
	}
	data := append(make([]byte, unix.SizeofIfInfomsg), attrs...)
	return c.link.Execute(netlink.Message{Header: netlink.Header{Type: typ, Flags: flags}, Data: data})
}

// parseLink reads the body of an RTM_NEWLINK.
func parseLink(data []byte) (Link, error) {
	if len(data) < unix.SizeofIfInfomsg {
		return Link{}, fmt.Errorf("a link message of %d bytes", len(data))
	}
	// The index is the int at offset 4 of struct ifinfomsg (include/uapi/linux/rtnetlink.h).
	l := Link{Index: int(int32(binary.NativeEndian.Uint32(data[4:])))}
	ad, err := netlink.NewAttributeDecoder(data[unix.SizeofIfInfomsg:])
	if err != nil {
		return Link{}, err
	}
	told := false
	for ad.Next() {
		switch ad.Type() {
		case unix.IFLA_IFNAME:
			l.Name = ad.String()
		case unix.IFLA_MTU:
			l.MTU, told = ad.Uint32(), true
		case unix.IFLA_MIN_MTU:
			l.MinMTU = ad.Uint32()
		case unix.IFLA_MAX_MTU:
			l.MaxMTU = ad.Uint32()
		case unix.IFLA_TXQLEN:
			l.TxQueueLen = ad.Uint32()
		}
	}
	if err := ad.Err(); err != nil {
		return Link{}, err
	}
	if l.Name == "" || !told {
		return Link{}, fmt.Errorf("a link message without name or mtu")
	}
	return l, nil
}
