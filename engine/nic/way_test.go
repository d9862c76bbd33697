package nic

import (
	"errors"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// bothWays is the namespace of inNetns, over netlink and over the ioctl.
func bothWays(t *testing.T) (over, under *Client) {
	over = inNetns(t)
	_, ok := over.way.(*genetlinkWay)
	need(t, ok, "needs netlink, which "+wayEnv+" rules out")
	t.Setenv(wayEnv, "ioctl")
	under, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := under.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, ok := under.way.(ioctlWay); !ok {
		t.Fatalf("%s=ioctl gives %T", wayEnv, under.way)
	}
	return over, under
}

func sameFeatures(t *testing.T, after string, a, b *Client) {
	t.Helper()
	x, err1 := a.Features("etn0")
	y, err2 := b.Features("etn0")
	if err1 != nil || err2 != nil || len(x) < 40 || !slices.Equal(x, y) {
		t.Errorf("%s: netlink says %d features %+v, %v\nioctl %d %+v, %v", after, len(x), x, err1, len(y), y, err2)
	}
}

// TestBothWaysAgree turns bits either way and reads them both ways, cascades and requests included.
func TestBothWaysAgree(t *testing.T) {
	over, under := bothWays(t)
	sameFeatures(t, "at first", over, under)
	for _, turn := range []map[string]bool{
		{"rx-gro": true},
		{"tx-checksum-ip-generic": false},
		{"tx-tcp-segmentation": true, "tx-scatter-gather": false},
		{"rx-lro": true},
		{"tx-checksum-ip-generic": true, "tx-scatter-gather": true, "rx-gro": false},
	} {
		for _, c := range []*Client{under, over} {
			if err := c.SetFeatures("etn0", turn); err != nil {
				t.Errorf("%T: %v", c.way, err)
			}
			sameFeatures(t, "after a turn", over, under)
		}
	}
}

// TestBothWaysRefuseAlike compares what can be compared: the error number, and the words where we have them.
func TestBothWaysRefuseAlike(t *testing.T) {
	over, under := bothWays(t)
	unknown := map[string]bool{"no-such-bit": true}
	for _, tt := range []struct {
		name string
		do   func(*Client) error
		is   error
	}{
		{"coalesce", func(c *Client) error { return second(c.Coalesce("etn0")) }, errors.ErrUnsupported},
		{"set coalesce", func(c *Client) error {
			return c.SetCoalesce("etn0", map[string]uint32{"rx-usecs": 8, "adaptive-rx": 1})
		}, errors.ErrUnsupported},
		{"rings", func(c *Client) error { return second(c.Rings("etn0")) }, errors.ErrUnsupported},
		{"set rings", func(c *Client) error { return c.SetRings("etn0", map[string]uint32{"rx": 64}) }, errors.ErrUnsupported},
		{"unknown bit", func(c *Client) error { return c.SetFeatures("etn0", unknown) }, unix.EOPNOTSUPP},
		{"no interface", func(c *Client) error { return second(c.Features("nosuchif0")) }, os.ErrNotExist},
		{"long name", func(c *Client) error { return second(c.Rings("a-name-too-long-0")) }, errName},
	} {
		a, b := tt.do(over), tt.do(under)
		if !errors.Is(a, tt.is) || !errors.Is(b, tt.is) {
			t.Errorf("%s: netlink %v, ioctl %v", tt.name, a, b)
		}
		if tt.is != os.ErrNotExist && a != nil && b != nil && a.Error() != b.Error() {
			t.Errorf("%s: netlink %q, ioctl %q", tt.name, a, b)
		}
	}
}

func TestDriverOfVeth(t *testing.T) {
	over, under := bothWays(t)
	for _, c := range []*Client{over, under} {
		d, err := c.DriverInfo("etn0")
		if err != nil || d.Name != "veth" || d.Version == "" {
			t.Errorf("driver %+v, %v", d, err)
		}
		stats, err := c.Stats("etn0")
		link, _ := c.Link("etf0")
		if err != nil || stats["peer_ifindex"] != uint64(link.Index) {
			t.Errorf("peer %d: %v, %v", link.Index, stats, err)
		}
		flags, err := c.PrivFlags("etn0")
		if err != nil || len(flags) != 0 {
			t.Errorf("flags %v, %v", flags, err)
		}
	}
	if _, err := over.Stats("lo"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("statistics of loopback: %v", err)
	}
}

func TestUnknownWay(t *testing.T) {
	t.Setenv(wayEnv, "pigeon")
	_, err := Open()
	if err == nil || err.Error() != `open network settings: ETHTUNE_ETHTOOL="pigeon": it takes ioctl or nothing` {
		t.Errorf("error %v", err)
	}
}
