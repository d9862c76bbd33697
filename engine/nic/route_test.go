package nic

import (
	"net/netip"
	"testing"
)

func TestRouteToLoopback(t *testing.T) {
	for _, ip := range []string{"127.0.0.1", "::1", "::ffff:127.0.0.1"} {
		dev, err := RouteTo(netip.MustParseAddr(ip))
		if err != nil && ip == "::1" {
			t.Logf("no IPv6 here: %v", err)
			continue
		}
		if err != nil || dev != "lo" {
			t.Errorf("%s: %q %v", ip, dev, err)
		}
	}
	if below := Lower("lo"); len(below) > 0 {
		t.Errorf("lo stands on %q", below)
	}
}

func FuzzParseRoute(f *testing.F) {
	f.Add(make([]byte, 12))
	f.Add([]byte{2, 32, 0, 0, 254, 0, 0, 1, 0, 0, 0, 0, 8, 0, 4, 0, 1, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if i, ok := parseRoute(data); !ok && i != 0 {
			t.Errorf("interface %d of no route", i)
		}
	})
}
