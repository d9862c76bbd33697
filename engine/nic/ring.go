package nic

import (
	"github.com/safchain/ethtool"
	"golang.org/x/sys/unix"
)

// Rings lists the sizes "rx" and "tx" in descriptors, as far as the driver has them.
func (c *Client) Rings(dev string) ([]Param, error) { return ask("read rings", dev, c.way.rings) }

// SetRings asks for the named sizes in one request. Most drivers take the link down for it.
func (c *Client) SetRings(dev string, values map[string]uint32) error {
	_, err := ask("set rings", dev, func(dev string) (struct{}, error) { return struct{}{}, c.way.setRings(dev, values) })
	return err
}

var ringParams = []param[ethtool.Ring]{
	{name: "rx", attr: unix.ETHTOOL_A_RINGS_RX, most: unix.ETHTOOL_A_RINGS_RX_MAX,
		field: func(r *ethtool.Ring) *uint32 { return &r.RxPending }, ceil: func(r *ethtool.Ring) *uint32 { return &r.RxMaxPending }},
	{name: "tx", attr: unix.ETHTOOL_A_RINGS_TX, most: unix.ETHTOOL_A_RINGS_TX_MAX,
		field: func(r *ethtool.Ring) *uint32 { return &r.TxPending }, ceil: func(r *ethtool.Ring) *uint32 { return &r.TxMaxPending }},
}

func (g *genetlinkWay) rings(dev string) ([]Param, error) {
	data, err := g.get(unix.ETHTOOL_MSG_RINGS_GET, dev)
	if err != nil {
		return nil, err
	}
	return parseParams(ringParams, data)
}

func (g *genetlinkWay) setRings(dev string, values map[string]uint32) error {
	return setParams(g, unix.ETHTOOL_MSG_RINGS_SET, ringParams, dev, values)
}
