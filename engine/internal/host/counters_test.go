package host

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/ethtune/ethtune/engine/metric"
)

func TestGrown(t *testing.T) {
	for what, c := range map[string]struct{ last, now, want uint64 }{
		"grew":                   {5, 8, 3},
		"stood":                  {5, 5, 0},
		"wrapped at 32 bits":     {1<<32 - 10, 20, 30},
		"began anew":             {1000, 20, 0},
		"64 bits step back":      {1 << 40, 1<<40 - 5, 0},
		"64 bits began anew":     {1 << 40, 7, 0},
		"beyond the signed":      {1<<64 - 3, 1<<64 - 1, 2},
		"half a wrap is no wrap": {1 << 31, 5, 0},
	} {
		if got := grown(c.last, c.now); got != c.want {
			t.Errorf("%s: %d, want %d", what, got, c.want)
		}
	}
}

// TestDevice is traps P26, no blank before a wide number, and P32, drivers that count in 32 bits.
func TestDevice(t *testing.T) {
	got, ok := parseDevice([]byte(fixture(t, "P26/dev")), "eth0")
	want := deviceCount{rx: wayCount{123456789012, 3000000, 1, 25}, tx: wayCount{987654321098, 2000000, 2, 3}}
	if !ok || got != want {
		t.Errorf("%+v %v, want %+v", got, ok, want)
	}
	dir, write := root(t, "proc/net/dev", fixture(t, "P32/dev.0"))
	d := openDevice(dir, "eth0")
	defer d.close()
	write(fixture(t, "P32/dev.1"))
	// What was sent had passed 32 bits, so it began anew.
	if n := d.read(); n == nil || *n != (metric.NIC{Device: "eth0", RxBytes: 1000, RxPackets: 10}) {
		t.Errorf("%+v", n)
	}
	write(fixture(t, "P32/dev.1")[:200]) // trap P31: unplugged
	if n := d.read(); n != nil {
		t.Errorf("of no interface: %+v", n)
	}
	write(fixture(t, "P32/dev.1"))
	if n := d.read(); n != nil {
		t.Errorf("since it was away: %+v", n)
	}
}

func FuzzParseDevice(f *testing.F) {
	f.Add([]byte(fixture(f, "P26/dev")), "eth0")
	f.Fuzz(func(t *testing.T, b []byte, name string) { parseDevice(b, name) })
}

// TestMIBs is traps P24 and P25: counters by name, wherever a kernel puts them.
func TestMIBs(t *testing.T) {
	dir, snmp := root(t, "proc/net/snmp", fixture(t, "P24/snmp"))
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "proc/net", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("netstat", fixture(t, "P25/netstat"))
	put("snmp6", "Ip6InReceives \t5\nUdp6RcvbufErrors                	3\n")
	m := openMIBs(dir)
	defer m.close()
	if got := m.read(); got != nil {
		t.Errorf("nothing moved: %v", got)
	}
	snmp(fixture(t, "P24/snmp.1"))
	put("netstat", fixture(t, "P25/netstat.1"))
	put("snmp6", "Ip6InReceives \t9\nUdp6RcvbufErrors                	8\n")
	want := map[string]uint64{"Tcp.OutSegs": 100, "Tcp.RetransSegs": 3, "Udp.InErrors": 4, "Udp.RcvbufErrors": 4,
		"TcpExt.PruneCalled": 2, "TcpExt.TCPBacklogDrop": 1, "Udp6.RcvbufErrors": 5}
	if got := m.read(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func FuzzParseMIBs(f *testing.F) {
	f.Add([]byte(fixture(f, "P24/snmp")))
	f.Add([]byte(fixture(f, "P25/netstat")))
	f.Add([]byte("Udp6RcvbufErrors \t3\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		parseTable(b, func(_, name []byte, _ uint64) {
			if len(name) == 0 {
				t.Fatal("a counter without a name")
			}
		})
		parseList(b, func(_, _ []byte, _ uint64) {})
	})
}

func TestIsTrouble(t *testing.T) {
	for name, want := range map[string]bool{
		"rx_dropped": true, "IEEE_rx_drop": true, "rx_crc_errors": true, "[0]: rx_discards": true, "rx_missed_errors": true,
		"rx_no_buffer_count": true, "tx-0.bytes": false, "rx_interrupts": false, "tx_retransmissions": false,
		"rx_interrupt_errors": true, "rx_queue_0_xdp_drops": true, "tx_fifo_overflow": true, "rx_packets": false, "": false,
	} {
		if isTrouble(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func TestQdiscMoves(t *testing.T) {
	key := qdiscKey{"fq_codel", 0x80010000, netlink.HANDLE_ROOT}
	got := moveOf(key, netlink.GnetStatsQueue{Drops: 1<<32 - 1, Overlimits: 5}, netlink.GnetStatsQueue{Drops: 4, Overlimits: 2, Qlen: 9})
	if want := (metric.Qdisc{Kind: "fq_codel", Handle: "8001:0", Parent: "root", Drops: 5, Backlog: 9}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestLink is trap P21: speeds that are none.
func TestLink(t *testing.T) {
	for text, want := range map[string]metric.Num{
		"1000\n": metric.N(1e9), "-1\n": {}, "65535\n": {}, "0\n": {}, "": {},
	} {
		dir, write := root(t, "sys/devices/pci0000:00/0000:01:00.0/net/eth0/speed", text)
		withDevice(t, dir, "eth0", "pci0000:00/0000:01:00.0")
		write(text)
		l := openLink(dir, "eth0")
		if got := l.bps(); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		if !l.numa().IsZero() {
			t.Errorf("a node out of nothing")
		}
		l.close()
	}
	l := openLink(t.TempDir(), "veth0")
	defer l.close()
	if !l.bps().IsZero() || !l.numa().IsZero() {
		t.Error("software with a speed or a place")
	}
}

func TestNode(t *testing.T) {
	for text, want := range map[string]metric.Num{"1\n": metric.N(1), "0\n": metric.N(0), "-1\n": {}} {
		dir, _ := root(t, "sys/devices/pci0000:00/0000:01:00.0/numa_node", text)
		withDevice(t, dir, "eth0", "pci0000:00/0000:01:00.0/virtio3")
		l := openLink(dir, "eth0")
		if got := l.numa(); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
		l.close()
	}
}

func FuzzNumbers(f *testing.F) {
	f.Add([]byte("18446744073709551615"))
	f.Add([]byte("ffffffff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, ok := decimal(b); ok && len(b) > 1 && b[0] != '0' && n < 10 {
			t.Fatalf("%q is %d", b, n)
		}
		hexadecimal(b)
		w, rest := word(b)
		if len(w)+len(rest) > len(b) {
			t.Fatal("more than there was")
		}
	})
}
