package kerneltest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/ethtune/ethtune/engine/nic"
)

// Host is a kernel with one interface called Dev. It follows the rules of netdev_fix_features in net/core/dev.c
// (Linux 6.12) for the bits it has. Its methods may be called by any goroutine; the fields are set before it is used.
type Host struct {
	Refuse  map[string]error  // by "features", "mtu" or "tx_queue_len": the write does nothing and returns this
	Fail    map[string]error  // same names: the write is done and returns this all the same
	Lie     map[string]bool   // same names: the write does nothing and returns nil
	OnWrite func(what string) // called before each write with the same names; may block or cancel
	// SmallTSO is the largest MTU with which the driver keeps TSO, as some cards have; 0 = any.
	SmallTSO uint32

	mu       sync.Mutex
	features []nic.Feature
	link     nic.Link
	writes   int
}

// Dev is the name of the interface.
const Dev = "fake0"

// New is a Host with the bits that matter of a common card: generic checksum, TSO, GSO, GRO, and an LRO that is fixed off.
func New() *Host {
	h := &Host{link: nic.Link{Name: Dev, Index: 2, MTU: 1500, MinMTU: 68, MaxMTU: 9000, TxQueueLen: 1000}}
	add := func(hw, wanted bool, names ...string) {
		for _, n := range names {
			h.features = append(h.features, nic.Feature{Name: n, Hw: hw, Wanted: hw && wanted, Active: wanted})
		}
	}
	add(true, true, "tx-scatter-gather")
	add(false, false, "tx-checksum-ipv4")
	add(true, true, "tx-checksum-ip-generic")
	add(false, false, "tx-checksum-ipv6")
	add(false, true, "highdma")
	add(true, true, "tx-generic-segmentation", "rx-gro")
	add(false, false, "rx-lro")
	add(true, true, "tx-tcp-segmentation", "tx-tcp-ecn-segmentation")
	add(true, false, "tx-tcp-mangleid-segmentation")
	add(true, true, "tx-tcp6-segmentation", "tx-tcp-accecn-segmentation", "tx-udp-segmentation", "rx-checksum")
	add(true, false, "rx-gro-list", "a-bit-nobody-knows")
	return h
}

// Writes is how many writes reached the kernel, refused ones too.
func (h *Host) Writes() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.writes
}

// Features is [nic.Client.Features].
func (h *Host) Features(dev string) ([]nic.Feature, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.features), known(dev)
}

// Link is [nic.Client.Link].
func (h *Host) Link(dev string) (nic.Link, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.link, known(dev)
}

// SetFeatures is [nic.Client.SetFeatures].
func (h *Host) SetFeatures(dev string, bits map[string]bool) error {
	return h.write(dev, "features", func() error {
		for name := range bits {
			if h.bit(name) == nil {
				return errors.New("bit name not found")
			}
		}
		for name, v := range bits {
			if b := h.bit(name); b.Changeable() {
				b.Wanted = v
			}
		}
		return nil
	})
}

// SetMTU is [nic.Client.SetMTU]; the words are those of net/core/dev.c dev_validate_mtu.
func (h *Host) SetMTU(dev string, mtu uint32) error {
	return h.write(dev, "mtu", func() error {
		switch {
		case mtu < h.link.MinMTU:
			return errors.New("mtu less than device minimum")
		case mtu > h.link.MaxMTU:
			return errors.New("mtu greater than device maximum")
		}
		h.link.MTU = mtu
		return nil
	})
}

// SetTxQueueLen is [nic.Client.SetTxQueueLen].
func (h *Host) SetTxQueueLen(dev string, packets uint32) error {
	return h.write(dev, "tx_queue_len", func() error {
		h.link.TxQueueLen = packets
		return nil
	})
}

// write makes a change the way the Host was told to, and lets the features follow.
func (h *Host) write(dev, what string, change func() error) error {
	if h.OnWrite != nil {
		h.OnWrite(what)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes++
	if err := known(dev); err != nil {
		return err
	}
	if err := h.Refuse[what]; err != nil {
		return err
	}
	if h.Lie[what] {
		return nil
	}
	if err := change(); err != nil {
		return err
	}
	h.fix()
	return h.Fail[what]
}

func known(dev string) error {
	if dev != Dev {
		return fmt.Errorf("%s: no such device", dev)
	}
	return nil
}

func (h *Host) bit(name string) *nic.Feature {
	for i := range h.features {
		if h.features[i].Name == name {
			return &h.features[i]
		}
	}
	return nil
}
