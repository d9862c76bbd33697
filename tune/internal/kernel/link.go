package kernel

import (
	"fmt"
	"strconv"

	"github.com/ethtune/ethtune/engine/nic"
	"github.com/ethtune/ethtune/tune/knob"
)

const (
	mtu        = "dev.mtu"
	txQueueLen = "dev.tx_queue_len"
)

func linkStates(l nic.Link) []knob.State {
	return []knob.State{
		{Knob: mtu, Value: strconv.FormatUint(uint64(l.MTU), 10), Min: int64(l.MinMTU), Max: int64(l.MaxMTU)},
		{Knob: txQueueLen, Value: strconv.FormatUint(uint64(l.TxQueueLen), 10)},
	}
}

func (d *Device) writeLink(s knob.Setting) error {
	set := map[string]func(string, uint32) error{mtu: d.host.SetMTU, txQueueLen: d.host.SetTxQueueLen}[s.Knob]
	if set == nil {
		return fmt.Errorf("%s is not a knob of a device", s.Knob)
	}
	n, err := strconv.ParseUint(s.Value, 10, 32)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Knob, err)
	}
	return set(d.dev, uint32(n))
}
