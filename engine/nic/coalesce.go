package nic

import (
	"github.com/safchain/ethtool"
	"golang.org/x/sys/unix"
)

// Coalesce lists the coalescing parameters that the driver has, in ethtool's order; times are in µs. The ioctl does not
// say which those are: there, the six that are usual are listed whatever they are, and others where they are not 0.
func (c *Client) Coalesce(dev string) ([]Param, error) {
	return ask("read coalesce", dev, c.way.coalesce)
}

// SetCoalesce asks for the named parameters in one request; the others stay as they are. Drivers round and couple: read
// again.
func (c *Client) SetCoalesce(dev string, values map[string]uint32) error {
	_, err := ask("set coalesce", dev, func(dev string) (struct{}, error) { return struct{}{}, c.way.setCoalesce(dev, values) })
	return err
}

type coalesce = ethtool.Coalesce

var coalesceParams = []param[coalesce]{
	{name: "adaptive-rx", attr: unix.ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, flag: true, usual: true,
		field: func(c *coalesce) *uint32 { return &c.UseAdaptiveRxCoalesce }},
	{name: "adaptive-tx", attr: unix.ETHTOOL_A_COALESCE_USE_ADAPTIVE_TX, flag: true, usual: true,
		field: func(c *coalesce) *uint32 { return &c.UseAdaptiveTxCoalesce }},
	{name: "stats-block-usecs", attr: unix.ETHTOOL_A_COALESCE_STATS_BLOCK_USECS,
		field: func(c *coalesce) *uint32 { return &c.StatsBlockCoalesceUsecs }},
	{name: "sample-interval", attr: unix.ETHTOOL_A_COALESCE_RATE_SAMPLE_INTERVAL,
		field: func(c *coalesce) *uint32 { return &c.RateSampleInterval }},
	{name: "pkt-rate-low", attr: unix.ETHTOOL_A_COALESCE_PKT_RATE_LOW,
		field: func(c *coalesce) *uint32 { return &c.PktRateLow }},
	{name: "pkt-rate-high", attr: unix.ETHTOOL_A_COALESCE_PKT_RATE_HIGH,
		field: func(c *coalesce) *uint32 { return &c.PktRateHigh }},
	{name: "rx-usecs", attr: unix.ETHTOOL_A_COALESCE_RX_USECS, usual: true,
		field: func(c *coalesce) *uint32 { return &c.RxCoalesceUsecs }},
	{name: "rx-frames", attr: unix.ETHTOOL_A_COALESCE_RX_MAX_FRAMES, usual: true,
		field: func(c *coalesce) *uint32 { return &c.RxMaxCoalescedFrames }},
	{name: "rx-usecs-irq", attr: unix.ETHTOOL_A_COALESCE_RX_USECS_IRQ,
		field: func(c *coalesce) *uint32 { return &c.RxCoalesceUsecsIrq }},
	{name: "rx-frames-irq", attr: unix.ETHTOOL_A_COALESCE_RX_MAX_FRAMES_IRQ,
		field: func(c *coalesce) *uint32 { return &c.RxMaxCoalescedFramesIrq }},
	{name: "tx-usecs", attr: unix.ETHTOOL_A_COALESCE_TX_USECS, usual: true,
		field: func(c *coalesce) *uint32 { return &c.TxCoalesceUsecs }},
	{name: "tx-frames", attr: unix.ETHTOOL_A_COALESCE_TX_MAX_FRAMES, usual: true,
		field: func(c *coalesce) *uint32 { return &c.TxMaxCoalescedFrames }},
	{name: "tx-usecs-irq", attr: unix.ETHTOOL_A_COALESCE_TX_USECS_IRQ,
		field: func(c *coalesce) *uint32 { return &c.TxCoalesceUsecsIrq }},
	{name: "tx-frames-irq", attr: unix.ETHTOOL_A_COALESCE_TX_MAX_FRAMES_IRQ,
		field: func(c *coalesce) *uint32 { return &c.TxMaxCoalescedFramesIrq }},
	{name: "rx-usecs-low", attr: unix.ETHTOOL_A_COALESCE_RX_USECS_LOW,
		field: func(c *coalesce) *uint32 { return &c.RxCoalesceUsecsLow }},
	{name: "rx-frames-low", attr: unix.ETHTOOL_A_COALESCE_RX_MAX_FRAMES_LOW,
		field: func(c *coalesce) *uint32 { return &c.RxMaxCoalescedFramesLow }},
	{name: "tx-usecs-low", attr: unix.ETHTOOL_A_COALESCE_TX_USECS_LOW,
		field: func(c *coalesce) *uint32 { return &c.TxCoalesceUsecsLow }},
	{name: "tx-frames-low", attr: unix.ETHTOOL_A_COALESCE_TX_MAX_FRAMES_LOW,
		field: func(c *coalesce) *uint32 { return &c.TxMaxCoalescedFramesLow }},
	{name: "rx-usecs-high", attr: unix.ETHTOOL_A_COALESCE_RX_USECS_HIGH,
		field: func(c *coalesce) *uint32 { return &c.RxCoalesceUsecsHigh }},
	{name: "rx-frames-high", attr: unix.ETHTOOL_A_COALESCE_RX_MAX_FRAMES_HIGH,
		field: func(c *coalesce) *uint32 { return &c.RxMaxCoalescedFramesHigh }},
	{name: "tx-usecs-high", attr: unix.ETHTOOL_A_COALESCE_TX_USECS_HIGH,
		field: func(c *coalesce) *uint32 { return &c.TxCoalesceUsecsHigh }},
	{name: "tx-frames-high", attr: unix.ETHTOOL_A_COALESCE_TX_MAX_FRAMES_HIGH,
		field: func(c *coalesce) *uint32 { return &c.TxMaxCoalescedFramesHigh }},
	{name: "cqe-mode-rx", attr: unix.ETHTOOL_A_COALESCE_USE_CQE_MODE_RX, flag: true},
	{name: "cqe-mode-tx", attr: unix.ETHTOOL_A_COALESCE_USE_CQE_MODE_TX, flag: true},
}

func (g *genetlinkWay) coalesce(dev string) ([]Param, error) {
	data, err := g.get(unix.ETHTOOL_MSG_COALESCE_GET, dev)
	if err != nil {
		return nil, err
	}
	return parseParams(coalesceParams, data)
}

func (g *genetlinkWay) setCoalesce(dev string, values map[string]uint32) error {
	return setParams(g, unix.ETHTOOL_MSG_COALESCE_SET, coalesceParams, dev, values)
}
