package nic

import (
	"encoding/binary"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// rxMissedAt is where struct rtnl_link_stats64 of include/uapi/linux/if_link.h has rx_missed_errors, in bytes: it is the
// sixteenth of its numbers of 64 bits.
const rxMissedAt = 15 * 8

// RxMissed is how many packets the interface's device had no buffer for, since its driver began to count.
func (c *Client) RxMissed(dev string) (uint64, error) {
	msgs, err := c.route(unix.RTM_GETLINK, netlink.Request, dev, unix.IFLA_EXT_MASK, 0)
	if err != nil {
		return 0, refused("read link counters", dev, err)
	}
	if len(msgs) != 1 {
		return 0, fmt.Errorf("%s: read link counters: %d replies where one was due", dev, len(msgs))
	}
	n, err := parseRxMissed(msgs[0].Data)
	if err != nil {
		return 0, fmt.Errorf("%s: read link counters: %w", dev, err)
	}
	return n, nil
}

// parseRxMissed reads the body of an RTM_NEWLINK.
func parseRxMissed(data []byte) (uint64, error) {
	if len(data) < unix.SizeofIfInfomsg {
		return 0, fmt.Errorf("a link message of %d bytes", len(data))
	}
	ad, err := netlink.NewAttributeDecoder(data[unix.SizeofIfInfomsg:])
	if err != nil {
		return 0, err
	}
	for ad.Next() {
		if b := ad.Bytes(); ad.Type() == unix.IFLA_STATS64 && len(b) >= rxMissedAt+8 {
			return binary.NativeEndian.Uint64(b[rxMissedAt:]), nil
		}
	}
	if err := ad.Err(); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("a link message without counters")
}
