package tui

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
)

// newHostScene is the scene on a host of that many processors, one of which takes what the interface receives.
func newHostScene(t testing.TB, cols, rows int, gl chart.Glyphs, cpus int) *model {
	bench, _ := newBench(t)
	m := newBare(t, bench, cols, rows, gl)
	m.states(readStates(context.Background(), bench))
	feed(m, hostRecords(cpus)...)
	m.tick(clockAt(sceneEnd))
	return m
}

// hostRecords is what the scene saw, with the host in it.
func hostRecords(cpus int) []metric.Record {
	rng := rand.New(rand.NewPCG(3, uint64(cpus)))
	recs := sceneRecords()
	n := 0
	for _, r := range recs {
		f, ok := r.(*metric.Frame)
		if !ok {
			continue
		}
		bps := f.RxBps.Or(0)
		f.CPU = metric.N(57 + 2*rng.NormFloat64())
		f.CwndBytes, f.SoftnetDrops = metric.N(7.4*(1<<20)), metric.N(0)
		f.TxCPUs, f.RxCPUs = []int{0, 2}, []int{1}
		f.Host = &metric.Host{NIC: &metric.NIC{Device: "etn0", TxBytes: uint64(bps / 80 * 1.04), RxBytes: uint64(bps / 80 / 150)}}
		if n++; n%10 == 0 {
			f.Host.Slow = hostSlow(rng, cpus, f.T > 94 && f.T <= 126)
		}
	}
	return recs
}

func hostSlow(rng *rand.Rand, cpus int, full bool) *metric.HostSlow {
	s := &metric.HostSlow{
		Span: 1, LinkBps: metric.N(10e9),
		Interrupts: []metric.Interrupt{{IRQ: 71, Name: "etn0-rx-0", CPUs: map[int]uint64{3: 4100}}},
		Top:        []metric.Process{{Name: "ethtune", PID: 4711, Pct: 131}, {Name: "ethtune", PID: 4720, Pct: 48.2}, {Name: "systemd-journald", PID: 312, Pct: 0.4}},
	}
	for n := range cpus {
		c := metric.CPU{N: n, Usr: 1 + rng.Float64(), Sys: 5 + 9*rng.Float64()}
		switch n % 8 {
		case 0, 2:
			c.Sys, c.Softirq = 38+4*rng.Float64(), 8+8*rng.Float64()
		case 1:
			c.Sys, c.Softirq = 21+4*rng.Float64(), 44+14*rng.Float64()
			if full {
				c.Softirq = 76
			}
		case 5:
			c.Usr, c.Sys = 0, 0
		}
		c.Idle = max(0, 100-c.Usr-c.Sys-c.Softirq)
		s.CPUs = append(s.CPUs, c)
	}
	return s
}

// newStockScene is three minutes of TCP to a peer that answers no probe, as iperf3 -s. At 60 s sixty segments were lost.
func newStockScene(t testing.TB, cols, rows int, gl chart.Glyphs) *model {
	bench := newStockBench(t)
	m := newBare(t, bench, cols, rows, gl)
	m.states(readStates(context.Background(), bench))
	m.status.Title, m.status.Granted.Dialect = "bench-2", "iperf3"
	for _, r := range sceneRecords() {
		if f, ok := r.(*metric.Frame); ok {
			stock(f)
		}
		feed(m, r)
	}
	m.tick(clockAt(sceneEnd))
	return m
}

// stock turns a Frame of the scene into what is known with such a peer: nothing but what the sending kernel says.
func stock(f *metric.Frame) {
	f.RttMs, f.RttFrom = metric.N(10*f.JitterMs.Or(0)), metric.FromTCP
	f.Retransmits = metric.N(0)
	if f.T > 60 && f.T < 61 || f.Lost.Or(0) > 0 {
		f.Retransmits = metric.N(6)
	}
	f.RxBps, f.JitterMs, f.JitterFrom = metric.Num{}, metric.Num{}, ""
	f.Lost, f.Packets, f.LossPct, f.LossFrom = metric.Num{}, metric.Num{}, metric.Num{}, ""
}

// udpFrame is a tenth of a second of UDP load, of which the receiver's socket dropped some.
func udpFrame(t float64) *metric.Frame {
	return &metric.Frame{
		T: t, Span: 0.1, Time: clockAt(t), Dir: metric.Out,
		TxBps: metric.N(2e9), RxBps: metric.N(1.9e9),
		JitterMs: metric.N(0.012), JitterFrom: metric.FromLoad,
		Lost: metric.N(40), Packets: metric.N(17_000), LossPct: metric.N(40.0 / 170), LossFrom: metric.FromLoad,
		LostAt:       &metric.LostAt{Sender: metric.N(0), Path: metric.N(3), Socket: metric.N(37)},
		SoftnetDrops: metric.N(0), TxMode: "gso 64", RxMode: "gro 64",
		CPU: metric.N(57), SelfCPU: metric.N(1.2),
		Host: &metric.Host{NIC: &metric.NIC{Device: "etn0", TxBytes: 26e6, RxBytes: 1e5, TxDropped: 2}},
	}
}
