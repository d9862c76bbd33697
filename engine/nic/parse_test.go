package nic

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// bitset encodes a bitset as the kernel does: with a mask every bit is listed and VALUE says which are set; without one
// only set bits are listed.
func bitset(nomask bool, bits ...bit) func(*netlink.AttributeEncoder) error {
	return func(ae *netlink.AttributeEncoder) error {
		ae.Flag(unix.ETHTOOL_A_BITSET_NOMASK, nomask)
		ae.Uint32(unix.ETHTOOL_A_BITSET_SIZE, uint32(len(bits)))
		ae.Nested(unix.ETHTOOL_A_BITSET_BITS, func(list *netlink.AttributeEncoder) error {
			for i, b := range bits {
				list.Nested(unix.ETHTOOL_A_BITSET_BITS_BIT, func(one *netlink.AttributeEncoder) error {
					one.Uint32(unix.ETHTOOL_A_BITSET_BIT_INDEX, uint32(i))
					if b.name != "" {
						one.String(unix.ETHTOOL_A_BITSET_BIT_NAME, b.name)
					}
					one.Flag(unix.ETHTOOL_A_BITSET_BIT_VALUE, b.on && !nomask)
					return nil
				})
			}
			return nil
		})
		return nil
	}
}

func encode(t testing.TB, fill func(*netlink.AttributeEncoder)) []byte {
	t.Helper()
	ae := netlink.NewAttributeEncoder()
	fill(ae)
	data, err := ae.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func featuresReply(t testing.TB) []byte {
	return encode(t, func(ae *netlink.AttributeEncoder) {
		ae.Nested(unix.ETHTOOL_A_FEATURES_HEADER, func(h *netlink.AttributeEncoder) error {
			h.String(unix.ETHTOOL_A_HEADER_DEV_NAME, "eth0")
			return nil
		})
		ae.Nested(unix.ETHTOOL_A_FEATURES_HW, bitset(false, bit{"tx-scatter-gather", true}, bit{"", false},
			bit{"highdma", false}, bit{"rx-gro", true}, bit{"netns-local", true}))
		ae.Nested(unix.ETHTOOL_A_FEATURES_WANTED, bitset(true, bit{"tx-scatter-gather", true}, bit{"rx-gro", true}))
		ae.Nested(unix.ETHTOOL_A_FEATURES_ACTIVE, bitset(true, bit{"highdma", true}, bit{"rx-gro", true}))
		ae.Nested(unix.ETHTOOL_A_FEATURES_NOCHANGE, bitset(false, bit{"netns-local", true}, bit{"rx-gro", false}))
	})
}

func TestParseFeatures(t *testing.T) {
	got, err := parseFeatures(featuresReply(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []Feature{
		{Name: "tx-scatter-gather", Wanted: true, Hw: true},
		{Name: "highdma", Active: true},
		{Name: "rx-gro", Active: true, Wanted: true, Hw: true},
		{Name: "netns-local", Hw: true, Never: true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	for i, changeable := range []bool{true, false, true, false} {
		if got[i].Changeable() != changeable {
			t.Errorf("%s: changeable %v", got[i].Name, !changeable)
		}
	}
}

func TestParseFeaturesRefuses(t *testing.T) {
	many := make([]bit, maxBits+1)
	for i := range many {
		many[i] = bit{name: fmt.Sprintf("bit-%d", i)}
	}
	hw := func(set func(*netlink.AttributeEncoder) error) []byte {
		return encode(t, func(ae *netlink.AttributeEncoder) { ae.Nested(unix.ETHTOOL_A_FEATURES_HW, set) })
	}
	compact := hw(func(ae *netlink.AttributeEncoder) error {
		ae.Bytes(unix.ETHTOOL_A_BITSET_VALUE, make([]byte, 8))
		return nil
	})
	if _, err := parseFeatures(compact); !errors.Is(err, errCompact) {
		t.Errorf("compact: %v", err)
	}
	for name, data := range map[string][]byte{
		"too many bits": hw(bitset(false, many...)),
		"a long name":   hw(bitset(false, bit{name: "a-name-of-more-than-thirty-two-letters"})),
		"twice":         hw(bitset(false, bit{name: "rx-gro"}, bit{name: "rx-gro"})),
		"cut short":     featuresReply(t)[:50],
	} {
		if f, err := parseFeatures(data); err == nil {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

func linkMessage(t testing.TB) []byte {
	head := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(head[4:], 7)
	return append(head, encode(t, func(ae *netlink.AttributeEncoder) {
		ae.String(unix.IFLA_IFNAME, "eth0")
		ae.Uint32(unix.IFLA_MTU, 1500)
		ae.Uint32(unix.IFLA_MIN_MTU, 68)
		ae.Uint32(unix.IFLA_MAX_MTU, 9000)
		ae.Uint32(unix.IFLA_TXQLEN, 1000)
	})...)
}

func TestParseLink(t *testing.T) {
	got, err := parseLink(linkMessage(t))
	want := Link{Name: "eth0", Index: 7, MTU: 1500, MinMTU: 68, MaxMTU: 9000, TxQueueLen: 1000}
	if err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	for _, n := range []int{0, 15, 16, 20} {
		if l, err := parseLink(linkMessage(t)[:n]); err == nil {
			t.Errorf("%d bytes: %+v", n, l)
		}
	}
}

func FuzzParseFeatures(f *testing.F) {
	f.Add(featuresReply(f))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		features, err := parseFeatures(data)
		if err != nil {
			return
		}
		if len(features) > maxBits {
			t.Errorf("%d features", len(features))
		}
		for _, x := range features {
			if x.Name == "" || len(x.Name) > maxName {
				t.Errorf("a bit called %q", x.Name)
			}
		}
	})
}

func TestParseRxMissed(t *testing.T) {
	stats := make([]byte, 24*8)
	for i := range 24 {
		binary.NativeEndian.PutUint64(stats[i*8:], uint64(i)<<33)
	}
	counters := func(b []byte) []byte {
		return append(linkMessage(t), encode(t, func(ae *netlink.AttributeEncoder) { ae.Bytes(unix.IFLA_STATS64, b) })...)
	}
	if n, err := parseRxMissed(counters(stats)); err != nil || n != 15<<33 {
		t.Errorf("%d, %v", n, err)
	}
	for what, data := range map[string][]byte{"none": linkMessage(t), "cut": counters(stats[:15*8]), "empty": nil} {
		if n, err := parseRxMissed(data); err == nil {
			t.Errorf("%s: %d", what, n)
		}
	}
}

func FuzzParseRxMissed(f *testing.F) {
	f.Add(linkMessage(f))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) { _, _ = parseRxMissed(data) })
}

func FuzzParseLink(f *testing.F) {
	f.Add(linkMessage(f))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if l, err := parseLink(data); err == nil && l.Name == "" {
			t.Errorf("%+v", l)
		}
	})
}
