package metric

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestMergeHost(t *testing.T) {
	one := &Frame{Span: 0.1, Host: &Host{Softnet: &Softnet{Processed: 5, Squeezed: 1}, NIC: &NIC{Device: "eth0", RxBytes: 100}}}
	slow := func(span, usr float64, name string) *Frame {
		return &Frame{Span: 0.1, Host: &Host{Slow: &HostSlow{
			Span:       span,
			CPUs:       []CPU{{N: 0, Usr: usr, Idle: 100 - usr, Processed: 7}},
			Interrupts: []Interrupt{{IRQ: 38, Name: "eth0-rx", CPUs: map[int]uint64{1: 10}}},
			Qdiscs:     []Qdisc{{Kind: "fq", Handle: "1:", Parent: "root", Drops: 2, Backlog: uint64(usr)}},
			Driver:     map[string]uint64{"rx_missed": 3},
			MIB:        map[string]uint64{"Tcp.RetransSegs": 4},
			Top:        []Process{{Name: name, PID: 1, Pct: 9}},
			LinkBps:    N(1e9),
		}}}
	}
	a, b := slow(1, 10, "a"), slow(3, 50, "b")
	b.Host.Slow.CPUs = append(b.Host.Slow.CPUs, CPU{N: 1, Idle: 100})
	var m Merger
	for _, f := range []*Frame{one, a, {Span: 0.1, Suspect: "why"}, one, b} {
		m.Add(f)
	}
	f := m.Take()
	want := &Host{
		Softnet: &Softnet{Processed: 10, Squeezed: 2},
		NIC:     &NIC{Device: "eth0", RxBytes: 200},
		Slow: &HostSlow{
			Span:       4,
			CPUs:       []CPU{{N: 0, Usr: 40, Idle: 60, Processed: 14, span: 4}, {N: 1, Idle: 100, span: 3}},
			Interrupts: []Interrupt{{IRQ: 38, Name: "eth0-rx", CPUs: map[int]uint64{1: 20}}},
			Qdiscs:     []Qdisc{{Kind: "fq", Handle: "1:", Parent: "root", Drops: 4, Backlog: 50}},
			Driver:     map[string]uint64{"rx_missed": 6},
			MIB:        map[string]uint64{"Tcp.RetransSegs": 8},
			Top:        []Process{{Name: "b", PID: 1, Pct: 9}},
			LinkBps:    N(1e9),
		},
	}
	if !reflect.DeepEqual(f.Host, want) || f.Suspect != "why" {
		t.Errorf("%+v, want %+v", f.Host.Slow, want.Slow)
	}
	if !reflect.DeepEqual(a.Host.Slow, slow(1, 10, "a").Host.Slow) {
		t.Errorf("a Frame that was folded has changed: %+v", a.Host.Slow)
	}
	if m.Add(&Frame{Span: 1}); m.Take().Host != nil {
		t.Error("a host out of nothing")
	}
}

// TestFullHostFitsALine gives every list as many rows as it may have.
func TestFullHostFitsALine(t *testing.T) {
	s := &HostSlow{Span: 1.0001234, Driver: map[string]uint64{}, MIB: map[string]uint64{}, RxMissed: math.MaxUint32}
	const many = math.MaxUint32
	for n := range MaxRows {
		s.CPUs = append(s.CPUs, CPU{N: n, Usr: 12.3, Sys: 12.3, Idle: 12.3, Softirq: 12.3, IRQ: 12.3, Steal: 12.3,
			Processed: many, Dropped: many, Squeezed: many})
		cpus := map[int]uint64{}
		for c := range 8 { // the host's reader tells of 2048 in all
			cpus[1000+c] = many
		}
		s.Interrupts = append(s.Interrupts, Interrupt{IRQ: 10000 + n, Name: strings.Repeat("x", 64), CPUs: cpus})
		s.Qdiscs = append(s.Qdiscs, Qdisc{Kind: "fq_codel", Handle: "ffff:ffff", Parent: "ffff:ffff", Drops: many,
			Overlimits: many, Requeues: many, Backlog: many})
		s.Driver[fmt.Sprintf("%032d", n)] = many
	}
	b, err := AppendRecord(nil, &Frame{Host: &Host{Slow: s}})
	if err != nil || len(b) > 160<<10 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
