package pane

import (
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
)

// tcpScope is a Scope of TCP, and what gives it a tenth of a second.
func tcpScope() (*Scope, func(f metric.Frame)) {
	s := NewScope(metric.DefaultSpec(), NewHost(false))
	at := 0.0
	return s, func(f metric.Frame) {
		at += 0.1
		f.T, f.Span, f.Dir = at, 0.1, metric.Out
		s.Add(&f, time.Time{})
		s.Tick(time.Time{})
	}
}

func (s *Scope) titles() string {
	second, third := s.lower()
	return second.name + " " + third.name
}

var (
	ofKernel = metric.Frame{RttMs: metric.N(0.04), RttFrom: metric.FromTCP, Retransmits: metric.N(1)}
	ofProbe  = metric.Frame{
		JitterMs: metric.N(0.005), JitterFrom: metric.FromProbe, LossFrom: metric.FromProbe, Lost: metric.N(0), Packets: metric.N(20),
		RttMs: metric.N(0.1), RttFrom: metric.FromProbe, Retransmits: metric.N(0),
	}
	ofLoad = metric.Frame{JitterMs: metric.N(0.2), JitterFrom: metric.FromLoad, LossFrom: metric.FromLoad, Lost: metric.N(3), Packets: metric.N(900)}
)

// The charts are the kernel's once no jitter came for a while, the probe's as soon as one does, and UDP's with the knob.
func TestKernelsCharts(t *testing.T) {
	const probes, kernels = "jitter loss", "rtt resent"
	s, add := tcpScope()
	expect := func(when, want string) {
		t.Helper()
		if got := s.titles(); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	for range 9 {
		add(ofKernel)
	}
	expect("in the first second", probes)
	for range 5 {
		add(ofKernel)
	}
	expect("without a probe", kernels)
	if r := s.shown; r.second.median != 0.04e-3 || r.third.now < 9.9 || r.third.now > 10.1 {
		t.Errorf("readings %+v", r)
	}
	for range 40 {
		add(metric.Frame{})
	}
	expect("while nothing is acknowledged", kernels)
	add(ofProbe)
	expect("with a probe", probes)
	for range 20 {
		add(ofKernel)
	}
	expect("when the probe fails for two seconds", probes)
	for range 12 {
		add(ofKernel)
	}
	expect("when it fails for good", kernels)
	s.Follow(metric.UDP)
	add(metric.Frame{})
	expect("of UDP", probes)
	add(ofLoad)
	s.Follow(metric.TCP)
	for range 32 {
		add(ofKernel)
	}
	expect("of TCP again", kernels)
}

// No value of one kind is ever in the series of the other.
func TestKernelsSeriesApart(t *testing.T) {
	s, add := tcpScope()
	for range 40 {
		add(ofKernel)
		add(ofLoad)
		add(ofProbe)
	}
	for _, tt := range []struct {
		t      *trace
		values []float64
	}{
		{&s.jitter, []float64{0.2e-3, 0.005e-3}}, {&s.rtt, []float64{0.04e-3}},
	} {
		for _, v := range tt.t.series.Range(nil, 0, 100) {
			if v != tt.values[0] && v != tt.values[len(tt.values)-1] {
				t.Fatalf("%s has %g", tt.t.name, v)
			}
		}
	}
}

// A peer that said what arrived of UDP and does not of TCP leaves what was acknowledged.
func TestKernelsRate(t *testing.T) {
	s, add := tcpScope()
	udp := ofLoad
	udp.TxBps, udp.RxBps = metric.N(2e9), metric.N(1e9)
	add(udp)
	tcp := ofKernel
	tcp.TxBps = metric.N(3e9)
	for range 50 {
		add(tcp)
	}
	if got := s.shown.bandwidth.now; got != 3e9 || s.bandwidth.source != "sent" {
		t.Errorf("%g %s", got, s.bandwidth.source)
	}
}

// A count that was not made is a gap, and one of nothing is 0.
func TestPerSecond(t *testing.T) {
	var p perSecond
	for i := range 10 {
		n := metric.Num{}
		if i == 4 {
			n = metric.N(7)
		}
		if rate, ok := p.add(n, 0.1); ok != (i == 9) || ok && rate.Or(0) < 6.9 {
			t.Errorf("%d: %v %v", i, rate, ok)
		}
	}
	if rate, ok := p.add(metric.Num{}, 1); !ok || !rate.IsZero() {
		t.Errorf("a second without a count: %v %v", rate, ok)
	}
	if rate, ok := p.add(metric.N(0), 1); !ok || rate != metric.N(0) {
		t.Errorf("a second of nothing: %v %v", rate, ok)
	}
}
