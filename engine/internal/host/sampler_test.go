package host

import (
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
)

// TestSampler reads this host: every second there is a slow reading, and the rest at every tick.
func TestSampler(t *testing.T) {
	const tick = slowEvery / 10
	var mono int64
	s := Open(Root, "lo")
	defer s.Close()
	wait := time.NewTicker(10 * time.Millisecond)
	defer wait.Stop()
	var slow *metric.HostSlow
	for n := 0; slow == nil && n < 500; n++ {
		<-wait.C
		mono += tick
		r := s.Read(mono)
		switch {
		case r.Drops == nil || r.Host == nil || r.Host.Softnet == nil || r.Host.NIC == nil:
			t.Fatalf("tick %d: %+v", n, r)
		case r.Host.Slow != nil && n < 9:
			t.Fatalf("a slow reading after %d ticks", n)
		}
		slow = r.Host.Slow
	}
	if slow == nil || slow.Span < 1 {
		t.Fatalf("slow: %+v", slow)
	}
	if len(slow.CPUs) == 0 {
		t.Error("no processors")
	}
}

func TestNothingThere(t *testing.T) {
	s := Open(t.TempDir(), "")
	defer s.Close()
	if r := s.Read(1); r.Host != nil || r.Drops != nil || !r.Busy.IsZero() {
		t.Errorf("read out of nothing: %+v", r)
	}
}

// BenchmarkTick is what every tick costs the sampler.
func BenchmarkTick(b *testing.B) {
	s := Open(Root, "lo")
	defer s.Close()
	b.ReportAllocs()
	for b.Loop() {
		s.Read(0)
	}
}

// BenchmarkSlow is what a second costs beside the sampler.
func BenchmarkSlow(b *testing.B) {
	s := startSlow(Root, "lo")
	defer s.close()
	s.open(0)
	b.ReportAllocs()
	for n := int64(1); b.Loop(); n++ {
		s.read(n)
	}
}
