package knob

import (
	"slices"
	"strings"
	"testing"
)

func TestSettable(t *testing.T) {
	const no = "not yet: this may cut the link"
	for _, tt := range []struct{ name, lab, outside string }{
		{"feature.rx-gro", "", ""},
		{"feature.tso", "", ""},
		{"feature.tx-tcp6-segmentation", "", ""},
		{"feature.tx-generic-segmentation", "", ""},
		{"feature.tx-esp-segmentation", "", no},
		{"feature.rx-lro", "", no},
		{"feature.tx", "", no},
		{"dev.mtu", "", no},
		{"dev.tx_queue_len", "", no},
		{"ring.rx", "", no},
		{"coalesce.rx-usecs", "", no},
		{"pause.pause", no, no},
		{"link.speed", no, no},
		{"socket.sndbuf", "", ""},
		{"engine.rate", "", ""},
		{"sysctl.net.core.netdev_max_backlog", "", ""},
		{"sysctl.net.ipv4.tcp_rmem", "", ""},
		{"sysctl.net.ipv4.tcp_mem", "not yet: this sysctl is not turned in this version", "not yet: this sysctl is not turned in this version"},
		{"sysctl.net.ipv4.ip_forward", "read only", "read only"},
		{"queue.tx-0.byte_queue_limits.inflight", "read only", "read only"},
		{"nonsense", "not supported: no such knob", "not supported: no such knob"},
	} {
		if ok, why := Settable(tt.name); why != tt.lab || ok != (tt.lab == "") {
			t.Errorf("%s in the lab: %v %q", tt.name, ok, why)
		}
		if ok, why := SettableOutsideLab(tt.name); why != tt.outside || ok != (tt.outside == "") {
			t.Errorf("%s outside the lab: %v %q", tt.name, ok, why)
		}
	}
}

// TestSysctlsHaveDocuments: a sysctl that is turned is also explained, and belongs where its document says.
func TestSysctlsHaveDocuments(t *testing.T) {
	host, netns := Sysctls(true), Sysctls(false)
	if len(host)+len(netns) != len(sysctls) {
		t.Errorf("%d sysctls, of which %d and %d have a document", len(sysctls), len(host), len(netns))
	}
	for _, name := range append(slices.Clone(host), netns...) {
		d, _ := Lookup(name)
		if d.HostWide() != slices.Contains(host, name) {
			t.Errorf("%s: its scope is %q", name, d.Scope)
		}
		if n := len([]rune(d.Help)); n > 70 || !strings.HasSuffix(d.Help, ".") {
			t.Errorf("%s: its help does not fit a line of the screen: %q", name, d.Help)
		}
		if k, err := Resolve(Short(name)); err != nil || k.Name != name {
			t.Errorf("%s is shown as %s, which means %+v, %v", name, Short(name), k, err)
		}
		if s := sysctls[name]; s.domain.Kind == Text || s.domain.Usual > s.domain.Max {
			t.Errorf("%s: %+v", name, s.domain)
		}
	}
}

func TestReopensLoad(t *testing.T) {
	for name, want := range map[string]bool{
		"sysctl.net.ipv4.tcp_rmem":               true,
		"sysctl.net.ipv4.tcp_congestion_control": true,
		"sysctl.net.core.rmem_default":           true,
		"sysctl.net.core.netdev_max_backlog":     false,
		"sysctl.net.ipv4.tcp_notsent_lowat":      false,
		"feature.rx-gro":                         false,
		"socket.sndbuf":                          false,
	} {
		if ReopensLoad(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}
