package pane

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
)

// The quantiles are those of the newest values, also after the oldest have left.
func TestSinceIsTheNewestValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var s since
	var all []float64
	for range sinceKeep + 500 {
		v := math.Floor(rng.Float64() * 100)
		s.add(v)
		all = append(all, v)
	}
	s.add(math.NaN())
	all = slices.Sorted(slices.Values(all[len(all)-sinceKeep:]))
	for _, q := range []float64{0, 0.5, 0.99, 1} {
		if got, want := s.quantile(q), all[min(int(q*sinceKeep), sinceKeep-1)]; got != want {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	s.reset()
	if got := s.quantile(0.5); !math.IsNaN(got) {
		t.Errorf("median of nothing: %v", got)
	}
}

// An hour's values cost next to nothing to keep in order.
func BenchmarkSinceAdd(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	var s since
	for range sinceKeep {
		s.add(rng.Float64())
	}
	b.ReportAllocs()
	for b.Loop() {
		s.add(rng.Float64())
	}
}

// A loss is read over a thousand packets and drawn over two hundred: one lost probe of twenty is no 5 %.
func TestPool(t *testing.T) {
	var p pool
	frame := func(lost float64) (float64, bool) {
		return p.add(&metric.Frame{Span: 0.1, Lost: metric.N(lost), Packets: metric.N(20)})
	}
	samples := 0
	for i := range 50 {
		lost := 0.0
		if i == 12 {
			lost = 1
		}
		if pct, ok := frame(lost); ok {
			samples++
			if want := map[bool]float64{true: 0.5, false: 0}[samples == 2]; pct != want {
				t.Errorf("sample %d: %v %%, want %v", samples, pct, want)
			}
		}
		if got := p.reading(); i < 49 != math.IsNaN(got) {
			t.Errorf("after %d packets: %v", 20*(i+1), got)
		}
	}
	if samples != 5 || p.reading() != 0.1 {
		t.Errorf("%d samples, reading %v", samples, p.reading())
	}
	for range 100 {
		frame(0)
	}
	if got := p.reading(); got != 0 {
		t.Errorf("after the loss has left: %v", got)
	}
}

// Without a count there is no loss, and not none.
func TestPoolWithoutCounts(t *testing.T) {
	var p pool
	for range 10 {
		if pct, ok := p.add(&metric.Frame{Span: 0.1}); ok && !math.IsNaN(pct) {
			t.Errorf("%v %% of nothing", pct)
		}
	}
	if !math.IsNaN(p.reading()) {
		t.Error("a reading of nothing")
	}
}
