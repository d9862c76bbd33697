package trial

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/ethtune/ethtune/engine/metric"
)

const (
	// Zone is the change in percent that is too small to matter: an interval within it is "no change".
	Zone = 3.0
	// LossZone is the same for loss, in percentage points.
	LossZone = 0.1
	// JitterFloor is the change of jitter in milliseconds below which nothing is called an effect: the kernel's own
	// receive stamps scatter by 1 to 2 us on an idle veth pair (measured 2026-11, Linux 6.18).
	JitterFloor = 0.002
	// block is the bootstrap's block in samples: a second at 10 Hz, longer than TCP's own oscillation on a LAN and than a
	// scheduler's mood.
	block = 10
	// draws is the number of bootstrap resamples; the ends of a 95 % interval are then good to a few per cent of its width.
	draws = 400
	// fewest is the number of samples on each side below which nothing is said.
	fewest = 10
)

// Difference is one comparison of samples.
type Difference struct {
	Before, After metric.Num // medians
	DeltaPct      metric.Num
	Lo, Hi        float64 // of DeltaPct; NaN where there is none
	Answer        Answer
	Reason        string
}

// Compare compares the medians of a (before) and b (after). Samples are in the order they were taken; NaN is skipped.
// more says whether more is better, floor the change in the samples' own unit that is too small to matter.
func Compare(a, b []float64, more bool, floor float64) Difference {
	a, b = present(a), present(b)
	d := Difference{Lo: math.NaN(), Hi: math.NaN(), Answer: Unsure}
	if len(a) > 0 {
		d.Before = metric.N(Median(a))
	}
	if len(b) > 0 {
		d.After = metric.N(Median(b))
	}
	if len(a) < fewest || len(b) < fewest {
		d.Reason = "too few samples"
		return d
	}
	ma, mb := d.Before.Float(), d.After.Float()
	if ma <= 0 {
		switch {
		case mb <= floor:
			d.Answer = NoChange
		case more:
			d.Answer = Better
		default:
			d.Answer = Worse
		}
		return d
	}
	d.DeltaPct = metric.N(100 * (mb/ma - 1))
	d.Lo, d.Hi = interval(a, b)
	if drift(a) > math.Abs(mb-ma)/2 {
		d.Reason = "drifting before"
		return d
	}
	zone := max(Zone, 100*floor/ma)
	d.Answer = answer(d.DeltaPct.Float(), d.Lo, d.Hi, zone, more)
	return d
}

// answer turns a difference and its interval into a word. Within zone nothing has changed.
func answer(delta, lo, hi, zone float64, more bool) Answer {
	up, down := Better, Worse
	if !more {
		up, down = Worse, Better
	}
	switch {
	case lo > -zone && hi < zone:
		return NoChange
	case lo > 0 && delta > zone:
		return up
	case hi < 0 && delta < -zone:
		return down
	}
	return Unsure
}

// interval is the 95 % interval of 100*(median(b)/median(a)-1) from a circular block bootstrap. The seed is fixed: the
// same samples give the same verdict.
func interval(a, b []float64) (lo, hi float64) {
	rng := rand.New(rand.NewPCG(1, 2))
	ra, rb := make([]float64, len(a)), make([]float64, len(b))
	out := make([]float64, 0, draws)
	for range draws {
		resample(rng, ra, a)
		resample(rng, rb, b)
		if ma := medianInPlace(ra); ma > 0 {
			out = append(out, 100*(medianInPlace(rb)/ma-1))
		}
	}
	if len(out) == 0 {
		return math.NaN(), math.NaN()
	}
	slices.Sort(out)
	return out[len(out)*25/1000], out[min(len(out)*975/1000, len(out)-1)]
}

func resample(rng *rand.Rand, dst, src []float64) {
	for i := 0; i < len(dst); {
		start := rng.IntN(len(src))
		for j := 0; j < block && i < len(dst); j++ {
			dst[i] = src[(start+j)%len(src)]
			i++
		}
	}
}

// drift is how far apart the medians of the two halves of the time before are, 0 if that is within the halves' own spread
// or a tenth: a change that came without us and may have gone on.
func drift(a []float64) float64 {
	if len(a) < 2*fewest {
		return 0
	}
	h := len(a) / 2
	m1, m2 := Median(a[:h]), Median(a[h:])
	spread := max(mad(a[:h], m1), mad(a[h:], m2))
	gap := math.Abs(m1 - m2)
	if gap <= 0.10*max(m1, m2) || gap <= 3*spread {
		return 0
	}
	return gap
}

// mad is the median absolute deviation from m.
func mad(v []float64, m float64) float64 {
	d := make([]float64, len(v))
	for i, x := range v {
		d[i] = math.Abs(x - m)
	}
	return medianInPlace(d)
}

// Median is the middle of v, which it leaves as it is; NaN where v is empty.
func Median(v []float64) float64 { return medianInPlace(slices.Clone(v)) }

func medianInPlace(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	slices.Sort(v)
	n := len(v)
	if n%2 == 1 {
		return v[n/2]
	}
	return (v[n/2-1] + v[n/2]) / 2
}

func present(v []float64) []float64 {
	out := make([]float64, 0, len(v))
	for _, x := range v {
		if !math.IsNaN(x) {
			out = append(out, x)
		}
	}
	return out
}

// CompareLoss compares two loss ratios by counts. Before and After are percentages, the interval of the difference is
// Newcombe's hybrid score interval (Statistics in Medicine 17, 1998, method 10) in percentage points.
func CompareLoss(lostA, sentA, lostB, sentB float64) Difference {
	d := Difference{Lo: math.NaN(), Hi: math.NaN(), Answer: Unsure}
	if sentA > 0 {
		d.Before = metric.N(100 * lostA / sentA)
	}
	if sentB > 0 {
		d.After = metric.N(100 * lostB / sentB)
	}
	if sentA < 100 || sentB < 100 {
		d.Reason = "too few packets"
		return d
	}
	pa, la, ua := wilson(lostA, sentA)
	pb, lb, ub := wilson(lostB, sentB)
	diff := pb - pa
	lo := 100 * (diff - math.Hypot(pb-lb, ua-pa))
	hi := 100 * (diff + math.Hypot(ub-pb, pa-la))
	switch {
	case lo > 0 && 100*diff > LossZone:
		d.Answer = Worse
	case hi < 0 && 100*diff < -LossZone:
		d.Answer = Better
	case lostA == 0 && lostB == 0, lo > -LossZone && hi < LossZone:
		d.Answer = NoChange
	default:
		d.Reason = "too few losses to tell"
	}
	if pa > 0 {
		d.DeltaPct = metric.N(100 * (pb/pa - 1))
	}
	return d
}

// wilson is the ratio and its 95 % score interval.
func wilson(k, n float64) (p, lo, hi float64) {
	const z = 1.96
	k = min(max(k, 0), n)
	p = k / n
	mid := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return p, max(mid-half, 0), min(mid+half, 1)
}
