package nic

import (
	"fmt"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// header is the attribute that every ethtool request begins with. It has the same number in each
// (include/uapi/linux/ethtool_netlink.h ETHTOOL_A_*_HEADER).
const header = unix.ETHTOOL_A_FEATURES_HEADER

// about begins a request about dev.
func about(dev string, flags uint32) *netlink.AttributeEncoder {
	ae := netlink.NewAttributeEncoder()
	ae.Nested(header, func(h *netlink.AttributeEncoder) error {
		h.String(unix.ETHTOOL_A_HEADER_DEV_NAME, dev)
		if flags != 0 {
			h.Uint32(unix.ETHTOOL_A_HEADER_FLAGS, flags)
		}
		return nil
	})
	return ae
}

// get asks for one reply and returns its attributes.
//
// A command that replies is sent without the wish for an acknowledgement, which would stay in the queue behind the reply
// and be taken for the answer to the next request.
func (g *genetlinkWay) get(cmd uint8, dev string) ([]byte, error) {
	msgs, err := g.execute(cmd, about(dev, 0), netlink.Request)
	if err != nil {
		return nil, err
	}
	if len(msgs) != 1 {
		return nil, fmt.Errorf("%d replies where one was due", len(msgs))
	}
	return msgs[0].Data, nil
}

// set sends a request that is only acknowledged.
func (g *genetlinkWay) set(cmd uint8, ae *netlink.AttributeEncoder) error {
	_, err := g.execute(cmd, ae, netlink.Request|netlink.Acknowledge)
	return err
}

func (g *genetlinkWay) execute(cmd uint8, ae *netlink.AttributeEncoder, flags netlink.HeaderFlags) ([]genetlink.Message, error) {
	data, err := ae.Encode()
	if err != nil {
		return nil, err
	}
	return g.conn.Execute(genetlink.Message{
		Header: genetlink.Header{Command: cmd, Version: unix.ETHTOOL_GENL_VERSION},
		Data:   data,
	}, g.family, flags)
}
