package knob

import (
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/ethtune/ethtune/assets"
)

// shown are the knobs whose help stands on one line of an 80-column screen.
var shown = []string{
	"feature.tso", "feature.tx", "feature.tx-generic-segmentation", "feature.rx-gro", "feature.tx-scatter-gather",
	"feature.rx-checksum", "feature.rx-lro", "dev.mtu", "dev.tx_queue_len", "socket.sndbuf", "socket.rcvbuf",
	"socket.congestion", "engine.rate", "engine.streams", "engine.size", "engine.mode", "engine.protocol",
}

func TestCatalogueParses(t *testing.T) {
	ix, err := parseCatalogue(assets.Knobs())
	if err != nil {
		t.Fatal(err)
	}
	if len(ix.docs) < 179 {
		t.Errorf("%d records", len(ix.docs))
	}
	for _, d := range ix.docs {
		k, err := Resolve(d.Key)
		if err != nil || k.Name != d.Key {
			t.Errorf("%s: resolves to %+v, %v", d.Key, k, err)
		}
		for _, a := range d.Aliases {
			if k, err := Resolve(a); err != nil || k.Name != d.Key {
				t.Errorf("%s: its alias %q resolves to %+v, %v", d.Key, a, k, err)
			}
		}
		if d.Risk == "" || d.Scope == "" || d.Range == "" || !strings.Contains("KLAIM", d.Evidence) || d.Evidence == "" {
			t.Errorf("%s: incomplete: %+v", d.Key, d)
		}
		if d.Unverified() != strings.Contains(d.Explain(), "(unverified)") {
			t.Errorf("%s: evidence %s and explained as\n%s", d.Key, d.Evidence, d.Explain())
		}
	}
}

func TestCatalogueGroups(t *testing.T) {
	groups := 0
	for _, d := range Catalogue() {
		if len(d.Members) == 0 {
			continue
		}
		groups++
		if d.Key != Family(d.Key)+"."+d.Aliases[0] {
			t.Errorf("%s: a group is called after its first alias %q", d.Key, d.Aliases[0])
		}
		for _, m := range d.Members {
			member, ok := Lookup(m)
			if !ok || Family(m) != Family(d.Key) || len(member.Members) > 0 {
				t.Errorf("%s: member %s", d.Key, m)
			}
			if Place(m) < Place(d.Key) {
				t.Errorf("%s stands after its member %s", d.Key, m)
			}
		}
		for _, m := range d.Decides {
			if !slices.Contains(d.Members, m) {
				t.Errorf("%s is decided by %s, which is no member", d.Key, m)
			}
		}
	}
	if groups != 3 {
		t.Errorf("%d groups", groups)
	}
}

func TestCatalogueHelpFitsTheScreen(t *testing.T) {
	for _, name := range shown {
		d, ok := Lookup(name)
		if !ok {
			t.Errorf("%s has no document", name)
			continue
		}
		if n := len([]rune(d.Help)); n > 70 || !strings.HasSuffix(d.Help, ".") || unicode.IsUpper([]rune(d.Help)[0]) {
			t.Errorf("%s: %d letters: %q", name, n, d.Help)
		}
		if ok, why := Settable(name); !ok {
			t.Errorf("%s is not settable: %s", name, why)
		}
		if k, err := Resolve(Short(name)); err != nil || k.Name != name {
			t.Errorf("%s is shown as %s, which means %+v, %v", name, Short(name), k, err)
		}
	}
}

func TestCatalogueRefusesABrokenFile(t *testing.T) {
	for _, text := range []string{
		`{`, `[{"key":"a.b"}]`, `[{"help":"x"}]`,
		`[{"key":"a.b","help":"x","aliases":["c"]},{"key":"a.d","help":"x","aliases":["c"]}]`,
	} {
		if _, err := parseCatalogue(text); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}

func TestLookupWithNumbers(t *testing.T) {
	for name, want := range map[string]string{
		"queue.rx-0.rps_cpus":           "queue.rx-N.rps_cpus",
		"queue.tx-12.xps_cpus":          "queue.tx-N.xps_cpus",
		"irq.131.affinity":              "irq.N.affinity",
		"cpu.3.cpuidle.state2.disable":  "cpu.N.cpuidle.stateN.disable",
		"sysctl.net.ipv4.tcp_rmem":      "sysctl.net.ipv4.tcp_rmem",
		"feature.tx-checksum-ipv4":      "feature.tx-checksum-ipv4",
		"feature.tx-esp-segmentation":   "",
		"sysctl.net.ipv6.tcp_rmem":      "",
		"queue.rx-0.rps_cpus.and_more":  "",
		"feature.":                      "",
		"socket.sndbuf":                 "socket.sndbuf",
		"queue.rx-.rps_cpus":            "",
		"sysctl.net.core.default_qdisc": "sysctl.net.core.default_qdisc",
	} {
		d, ok := Lookup(name)
		if d.Key != want || ok != (want != "") {
			t.Errorf("%s: %q, %v", name, d.Key, ok)
		}
	}
}

func TestShort(t *testing.T) {
	for name, want := range map[string]string{
		"feature.tso": "tso", "feature.rx-gro": "gro", "feature.tx-generic-segmentation": "gso",
		"feature.tx-scatter-gather": "sg", "feature.tx": "tx", "feature.rx-checksum": "rx", "feature.rx-lro": "lro",
		"dev.mtu": "mtu", "dev.tx_queue_len": "txqlen", "socket.sndbuf": "sndbuf", "socket.rcvbuf": "rcvbuf",
		"socket.congestion": "cc", "engine.rate": "rate", "engine.streams": "streams", "engine.size": "size",
		"engine.mode": "dir", "engine.protocol": "proto",
		"feature.tx-tcp6-segmentation": "tx-tcp6-segmentation", "feature.tx-esp-segmentation": "tx-esp-segmentation",
		"queue.rx-3.rps_cpus": "queue.rx-3.rps_cpus",
	} {
		if got := Short(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestOrdered(t *testing.T) {
	var p Plan
	for _, name := range []string{"socket.sndbuf", "feature.tx-tcp-segmentation", "feature.rx-lro", "feature.tx-scatter-gather",
		"feature.tx-checksum-ipv4", "dev.mtu", "feature.tx"} {
		p = append(p, Setting{Knob: name})
	}
	var got []string
	for _, s := range p.Ordered() {
		got = append(got, Short(s.Knob))
	}
	want := "mtu tx-checksum-ipv4 tx sg tx-tcp-segmentation lro sndbuf"
	if strings.Join(got, " ") != want || p[0].Knob != "socket.sndbuf" {
		t.Errorf("%s\nwant %s", got, want)
	}
}
