package nic

import (
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Bounds of a bitset. A kernel of 2026 has 65 feature bits; a name fits ETH_GSTRING_LEN of include/uapi/linux/ethtool.h.
const (
	maxBits = 1024
	maxName = 32
)

// errCompact is an answer in a form that was not asked for.
var errCompact = errors.New("the kernel sent a compact bitset where a named one was asked for")

// bit is one bit of a verbose bitset.
type bit struct {
	name string
	on   bool
}

// parseBitset reads a bitset that lists its bits by name (Documentation/networking/ethtool-netlink.rst, "Bit sets").
// Without a mask the bits that are listed are the ones set; with one, each says for itself.
func parseBitset(ad *netlink.AttributeDecoder) ([]bit, error) {
	var (
		bits   []bit
		nomask bool
	)
	for ad.Next() {
		switch ad.Type() {
		case unix.ETHTOOL_A_BITSET_NOMASK:
			nomask = ad.Flag()
		case unix.ETHTOOL_A_BITSET_VALUE, unix.ETHTOOL_A_BITSET_MASK:
			return nil, errCompact
		case unix.ETHTOOL_A_BITSET_BITS:
			ad.Nested(func(nad *netlink.AttributeDecoder) (err error) {
				bits, err = parseBits(nad)
				return err
			})
		}
	}
	if nomask {
		for i := range bits {
			bits[i].on = true
		}
	}
	return bits, ad.Err()
}

// parseBits leaves out bits without a name: a kernel keeps the place of a feature that it has dropped.
func parseBits(ad *netlink.AttributeDecoder) ([]bit, error) {
	var bits []bit
	for ad.Next() {
		if ad.Type() != unix.ETHTOOL_A_BITSET_BITS_BIT {
			continue
		}
		if len(bits) == maxBits {
			return nil, fmt.Errorf("a bitset of more than %d bits", maxBits)
		}
		ad.Nested(func(nad *netlink.AttributeDecoder) error {
			b, err := parseBit(nad)
			if b.name != "" {
				bits = append(bits, b)
			}
			return err
		})
	}
	return bits, ad.Err()
}

func parseBit(ad *netlink.AttributeDecoder) (bit, error) {
	var b bit
	for ad.Next() {
		switch ad.Type() {
		case unix.ETHTOOL_A_BITSET_BIT_NAME:
			b.name = ad.String()
		case unix.ETHTOOL_A_BITSET_BIT_VALUE:
			b.on = ad.Flag()
		}
	}
	if err := ad.Err(); err != nil {
		return b, err
	}
	if len(b.name) > maxName {
		return b, fmt.Errorf("a feature bit is called %.40q", b.name)
	}
	return b, nil
}
