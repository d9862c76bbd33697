package chart

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v          float64
		want, loss string
	}{
		{0, "0.0", "0.00"},
		{math.Copysign(0, -1), "0.0", "0.00"},
		{7.4, "7.4", "7.40"},
		{0.5, "0.5", "0.50"},
		{0.04, "<0.1", "0.04"},
		{0.004, "<0.1", "<0.01"},
		{99.99, "100.0", "99.99"},
		{100, "100.0", "100.0"},
		{934.06, "934.1", "934.1"},
		{999.94, "999.9", "999.9"},
		{999.96, "1000", "1000"},
		{1351.2, "1351", "1351"},
		{99999.4, "99999", "99999"},
		{123456, "1e+05", "1e+05"},
		{1e300, ">9e99", ">9e99"},
		{-7.4, "-7.4", "-7.40"},
		{-1351, "-1351", "-1351"},
		{-1e7, "<-9e3", "<-9e3"},
		{math.NaN(), "–", "–"},
		{math.Inf(1), ">9e99", ">9e99"},
	} {
		if got := Number(c.v); got != c.want {
			t.Errorf("Number(%v) = %q, want %q", c.v, got, c.want)
		}
		if got := NumberLoss(c.v); got != c.loss {
			t.Errorf("NumberLoss(%v) = %q, want %q", c.v, got, c.loss)
		}
	}
}

func TestNumberFine(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0.0", 1e-9: "<.001", 0.0004: "<.001", 0.0005: "0.001", 0.0042: "0.004", 0.0994: "0.099", 0.0999: "0.100",
		0.1: "0.1", 7.4: "7.4", 1351.2: "1351", math.NaN(): "–",
	} {
		if got := NumberFine(v); got != want {
			t.Errorf("NumberFine(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestLabel(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 40: "40", 0.5: "0.5", 2.5: "2.5", 1000: "1000", 10000: "10000", 0.001: "0.001",
		30e9 / 1e9 * (1 + 1e-15): "30", 0.1 + 0.2: "0.3", 250000: "2e+05",
	} {
		if got := string(appendLabel(nil, v)); got != want {
			t.Errorf("label of %v is %q, want %q", v, got, want)
		}
	}
}

func TestQuantile(t *testing.T) {
	if q := Median(nil); !math.IsNaN(q) {
		t.Errorf("median of nothing is %v", q)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for n := 1; n < 300; n += 1 + n/20 {
		v := make([]float64, n)
		for _, fill := range []func(i int) float64{
			func(i int) float64 { return r.NormFloat64() },
			func(i int) float64 { return float64(i) },
			func(i int) float64 { return float64(-i) },
			func(i int) float64 { return float64(i % 3) },
		} {
			for i := range v {
				v[i] = fill(i)
			}
			sorted := slices.Sorted(slices.Values(v))
			for _, q := range []float64{-1, 0, 0.01, 0.25, 0.5, 0.75, 0.99, 1, 2} {
				pos := min(max(q, 0), 1) * float64(n-1)
				k := int(pos)
				want := sorted[k]
				if k+1 < n {
					want = sorted[k]*(1-(pos-float64(k))) + sorted[k+1]*(pos-float64(k))
				}
				if got := Quantile(v, q); math.Abs(got-want) > 1e-12 {
					t.Fatalf("quantile %v of %d values is %v, want %v", q, n, got, want)
				}
			}
		}
	}
}

// BenchmarkQuantile is the median and p99 of ten minutes.
func BenchmarkQuantile(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	from, v := make([]float64, 6000), make([]float64, 6000)
	for i := range from {
		from[i] = r.NormFloat64()
	}
	b.ReportAllocs()
	for b.Loop() {
		copy(v, from)
		Median(v)
		Quantile(v, 0.99)
	}
}
