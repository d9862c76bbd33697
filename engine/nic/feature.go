package nic

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Feature is one feature bit of an interface.
type Feature struct {
	Name   string // the kernel's
	Active bool   // in use
	Wanted bool   // asked for; the kernel may keep it off while something it needs is off
	Hw     bool   // the driver lets it be changed
	Never  bool   // the kernel never lets it be changed
}

// Changeable reports whether a request to change it can have an effect. ethtool shows the others as [fixed].
func (f Feature) Changeable() bool { return f.Hw && !f.Never }

// Features lists every feature bit the kernel knows, in its order, changeable here or not.
func (c *Client) Features(dev string) ([]Feature, error) {
	return ask("read features", dev, c.way.features)
}

// SetFeatures asks for the named bits, all in one request, and for no others. The kernel says nothing about a bit that is
// fixed, that it will not give, or that it moves along: read again. A name the kernel does not know is an error, and
// nothing of the request is done.
func (c *Client) SetFeatures(dev string, bits map[string]bool) error {
	_, err := ask("set features", dev, func(dev string) (struct{}, error) { return struct{}{}, c.way.setFeatures(dev, bits) })
	return err
}

func (g *genetlinkWay) features(dev string) ([]Feature, error) {
	data, err := g.get(unix.ETHTOOL_MSG_FEATURES_GET, dev)
	if err != nil {
		return nil, err
	}
	return parseFeatures(data)
}

func (g *genetlinkWay) setFeatures(dev string, bits map[string]bool) error {
	ae := about(dev, unix.ETHTOOL_FLAG_OMIT_REPLY)
	ae.Nested(unix.ETHTOOL_A_FEATURES_WANTED, func(set *netlink.AttributeEncoder) error {
		set.Nested(unix.ETHTOOL_A_BITSET_BITS, func(list *netlink.AttributeEncoder) error {
			for _, name := range slices.Sorted(maps.Keys(bits)) {
				list.Nested(unix.ETHTOOL_A_BITSET_BITS_BIT, func(bit *netlink.AttributeEncoder) error {
					bit.String(unix.ETHTOOL_A_BITSET_BIT_NAME, name)
					bit.Flag(unix.ETHTOOL_A_BITSET_BIT_VALUE, bits[name])
					return nil
				})
			}
			return nil
		})
		return nil
	})
	return g.set(unix.ETHTOOL_MSG_FEATURES_SET, ae)
}

// parseFeatures reads a FEATURES_GET reply. The hw bitset has a mask of every bit, so it is the list of names; wanted and
// active list only the bits that are set.
func parseFeatures(data []byte) ([]Feature, error) {
	ad, err := netlink.NewAttributeDecoder(data)
	if err != nil {
		return nil, err
	}
	sets := make(map[uint16][]bit)
	for ad.Next() {
		switch t := ad.Type(); t {
		case unix.ETHTOOL_A_FEATURES_HW, unix.ETHTOOL_A_FEATURES_WANTED,
			unix.ETHTOOL_A_FEATURES_ACTIVE, unix.ETHTOOL_A_FEATURES_NOCHANGE:
			ad.Nested(func(nad *netlink.AttributeDecoder) error {
				bits, err := parseBitset(nad)
				sets[t] = bits
				return err
			})
		}
	}
	if err := ad.Err(); err != nil {
		return nil, err
	}
	hw := sets[unix.ETHTOOL_A_FEATURES_HW]
	features := make([]Feature, 0, len(hw))
	place := make(map[string]int, len(hw))
	for _, b := range hw {
		if _, twice := place[b.name]; twice {
			return nil, fmt.Errorf("feature bit %q is listed twice", b.name)
		}
		place[b.name] = len(features)
		features = append(features, Feature{Name: b.name, Hw: b.on})
	}
	mark := func(set uint16, field func(*Feature) *bool) {
		for _, b := range sets[set] {
			if i, ok := place[b.name]; ok && b.on {
				*field(&features[i]) = true
			}
		}
	}
	mark(unix.ETHTOOL_A_FEATURES_WANTED, func(f *Feature) *bool { return &f.Wanted })
	mark(unix.ETHTOOL_A_FEATURES_ACTIVE, func(f *Feature) *bool { return &f.Active })
	mark(unix.ETHTOOL_A_FEATURES_NOCHANGE, func(f *Feature) *bool { return &f.Never })
	return features, nil
}
