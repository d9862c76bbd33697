package nic

import (
	"slices"
	"testing"

	"github.com/mdlayher/netlink"
	"github.com/safchain/ethtool"
	"golang.org/x/sys/unix"
)

func coalesceReply(t testing.TB) []byte {
	return encode(t, func(ae *netlink.AttributeEncoder) {
		ae.Nested(header, func(h *netlink.AttributeEncoder) error {
			h.String(unix.ETHTOOL_A_HEADER_DEV_NAME, "eth0")
			return nil
		})
		ae.Uint32(unix.ETHTOOL_A_COALESCE_RX_USECS, 50)
		ae.Uint32(unix.ETHTOOL_A_COALESCE_TX_MAX_FRAMES, 0)
		ae.Uint8(unix.ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, 1)
		ae.Uint8(unix.ETHTOOL_A_COALESCE_USE_CQE_MODE_RX, 0)
		ae.Uint32(unix.ETHTOOL_A_COALESCE_MAX, 7) // one that is not ours
	})
}

func ringsReply(t testing.TB) []byte {
	return encode(t, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(unix.ETHTOOL_A_RINGS_RX_MAX, 4096)
		ae.Uint32(unix.ETHTOOL_A_RINGS_RX, 512)
	})
}

func TestParseParams(t *testing.T) {
	got, err := parseParams(coalesceParams, coalesceReply(t))
	want := []Param{
		{Name: "adaptive-rx", Value: 1, Switch: true}, {Name: "rx-usecs", Value: 50}, {Name: "tx-frames"},
		{Name: "cqe-mode-rx", Switch: true},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("coalesce %+v, %v", got, err)
	}
	got, err = parseParams(ringParams, ringsReply(t))
	if want := []Param{{Name: "rx", Value: 512, Max: 4096}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("rings %+v, %v", got, err)
	}
	for n := 1; n < len(ringsReply(t)); n++ {
		if got, err := parseParams(ringParams, ringsReply(t)[:n]); err == nil && len(got) > 0 {
			t.Errorf("cut at %d: %+v", n, got)
		}
	}
}

// TestParamsOfTheIoctl reads the struct as netlink would read the reply, and changes what is asked for alone.
func TestParamsOfTheIoctl(t *testing.T) {
	ring := ethtool.Ring{RxPending: 512, RxMaxPending: 4096}
	if got, want := listParams(ringParams, &ring), []Param{{Name: "rx", Value: 512, Max: 4096}}; !slices.Equal(got, want) {
		t.Errorf("rings %+v", got)
	}
	c := ethtool.Coalesce{RxCoalesceUsecs: 50, RxCoalesceUsecsHigh: 9}
	var names []string
	for _, p := range listParams(coalesceParams, &c) {
		names = append(names, p.Name)
	}
	want := []string{"adaptive-rx", "adaptive-tx", "rx-usecs", "rx-frames", "tx-usecs", "tx-frames", "rx-usecs-high"}
	if !slices.Equal(names, want) {
		t.Errorf("coalesce %v", names)
	}
	if err := putParams(coalesceParams, &c, map[string]uint32{"rx-usecs": 8, "adaptive-tx": 1}); err != nil {
		t.Error(err)
	}
	if want := (ethtool.Coalesce{RxCoalesceUsecs: 8, UseAdaptiveTxCoalesce: 1, RxCoalesceUsecsHigh: 9}); c != want {
		t.Errorf("put %+v", c)
	}
	for _, name := range []string{"cqe-mode-rx", "no-such"} {
		if err := putParams(coalesceParams, &c, map[string]uint32{name: 1}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzParseParams(f *testing.F) {
	f.Add(coalesceReply(f))
	f.Add(ringsReply(f))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if list, err := parseParams(coalesceParams, data); err == nil && len(list) > len(coalesceParams) {
			t.Errorf("%d parameters", len(list))
		}
		if list, err := parseParams(ringParams, data); err == nil && len(list) > len(ringParams) {
			t.Errorf("%d sizes", len(list))
		}
	})
}
