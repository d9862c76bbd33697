package trial

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
)

// noisy is n samples around mean with the relative spread sd, each pulled towards the one before as TCP's are.
func noisy(seed uint64, n int, mean, sd float64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 7))
	out := make([]float64, n)
	e := 0.0
	for i := range out {
		e = 0.5*e + rng.NormFloat64()*sd*mean
		out[i] = mean + e
	}
	return out
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		name  string
		a, b  []float64
		more  bool
		floor float64
		want  Answer
	}{
		{"a quarter is left", noisy(1, 60, 30, 0.03), noisy(2, 30, 7.4, 0.03), true, 0, Worse},
		{"four times", noisy(1, 60, 7.4, 0.03), noisy(2, 30, 30, 0.03), true, 0, Better},
		{"jitter up", noisy(1, 60, 4, 0.1), noisy(2, 30, 20, 0.1), false, 2, Worse},
		{"jitter up by less than stamps scatter", noisy(1, 60, 0.7, 0.1), noisy(2, 30, 1.3, 0.1), false, 2, NoChange},
		{"the same", noisy(1, 80, 30, 0.005), noisy(2, 30, 30, 0.005), true, 0, NoChange},
		{"small within noise", noisy(1, 80, 30, 0.15), noisy(2, 30, 30.5, 0.15), true, 0, Unsure},
		{"too few", noisy(1, 5, 30, 0.01), noisy(2, 30, 3, 0.01), true, 0, Unsure},
		{"nothing", nil, nil, true, 0, Unsure},
		{"zero and zero", make([]float64, 20), make([]float64, 20), true, 0, NoChange},
		{"from zero", make([]float64, 20), noisy(2, 30, 3, 0.01), true, 0, Better},
		{"drifting", append(noisy(1, 40, 30, 0.01), noisy(3, 40, 20, 0.01)...), noisy(2, 30, 18, 0.01), true, 0, Unsure},
		{"an effect far beyond the drift", append(noisy(1, 40, 30, 0.01), noisy(3, 40, 26, 0.01)...), noisy(2, 30, 5, 0.01), true, 0, Worse},
	} {
		d := Compare(c.a, c.b, c.more, c.floor)
		if d.Answer != c.want {
			t.Errorf("%s: %s (delta %v, %v to %v, %s), want %s", c.name, d.Answer, d.DeltaPct, d.Lo, d.Hi, d.Reason, c.want)
		}
	}
}

// TestNoiseIsNotAnEffect counts how often two samples of the same thing are called different.
func TestNoiseIsNotAnEffect(t *testing.T) {
	wrong := 0
	const runs = 200
	for i := range uint64(runs) {
		d := Compare(noisy(2*i, 80, 30, 0.05), noisy(2*i+1, 30, 30, 0.05), true, 0)
		if d.Answer == Better || d.Answer == Worse {
			wrong++
		}
	}
	// A 95 % interval may miss one time in twenty; short series with memory miss somewhat more often.
	if wrong > runs/8 {
		t.Errorf("%d of %d comparisons of noise with itself found an effect", wrong, runs)
	}
}

func TestCompareLoss(t *testing.T) {
	for _, c := range []struct {
		la, na, lb, nb float64
		want           Answer
	}{
		{0, 1000, 0, 600, NoChange},
		{0, 1000, 300, 600, Worse},
		{300, 1000, 0, 600, Better},
		{0, 50, 10, 600, Unsure},
		{1, 1000, 1, 600, Unsure},
		{100, 1e6, 60, 6e5, NoChange},
	} {
		if d := CompareLoss(c.la, c.na, c.lb, c.nb); d.Answer != c.want {
			t.Errorf("%v of %v against %v of %v: %s, want %s", c.la, c.na, c.lb, c.nb, d.Answer, c.want)
		}
	}
}

// feed gives j a run of 10 Hz frames at rate bps, and returns the verdicts.
func feed(j *Judge, from, to, bps float64) []*Verdict {
	var out []*Verdict
	for i := math.Round(from*10) + 1; i <= math.Round(to*10); i++ {
		wobble := 1 + 0.01*math.Sin(i)
		out = append(out, j.Add(&metric.Frame{T: i / 10, Span: 0.1, Dir: metric.Out, RxBps: metric.N(bps * wobble),
			JitterMs: metric.N(0.004 * wobble), Lost: metric.N(0), Packets: metric.N(20)})...)
	}
	return out
}

func mark(n int, t float64, from, got string) *metric.Mark {
	return &metric.Mark{N: n, T: t, Knob: "feature.tso", Side: "near", From: from, Asked: got, Got: got, Outcome: "applied"}
}

func TestJudgeWaitsAndSays(t *testing.T) {
	var j Judge
	feed(&j, 0, 10, 30e9)
	open := mark(1, 10, "on", "on")
	open.Outcome = metric.Pending
	j.Add(open)
	j.Add(mark(1, 10, "on", "off"))
	if got := feed(&j, 10, 13.9, 7.4e9); got != nil {
		t.Fatalf("a verdict before its time: %v", got[0])
	}
	got := feed(&j, 13.9, 14.1, 7.4e9)
	if len(got) != 3 {
		t.Fatalf("%d verdicts", len(got))
	}
	if v := got[0]; v.Metric != Bandwidth || v.Answer != Worse || v.Mark != 1 || v.A != "on" || v.B != "off" ||
		math.Abs(v.DeltaPct.Or(0)+75.3) > 1.5 || len(v.CI95) != 2 {
		t.Errorf("%+v", v)
	}
	if v := got[1]; v.Metric != Jitter || v.Answer != NoChange {
		t.Errorf("%+v", v)
	}
	if v := got[2]; v.Metric != Loss || v.Answer != NoChange {
		t.Errorf("%+v", v)
	}
}

func TestJudgeTakesCloseMarksTogether(t *testing.T) {
	var j Judge
	feed(&j, 0, 4, 30e9)
	j.Add(mark(1, 4, "on", "off"))
	j.Add(mark(2, 4.01, "on", "off"))
	got := feed(&j, 4, 9, 7e9)
	if len(got) != 3 || got[0].Mark != 2 || fmt.Sprint(got[0].With) != "[1]" || got[0].Answer != Worse {
		t.Fatalf("%+v", got)
	}
}

func TestJudgeIsCutShortByTheNextMark(t *testing.T) {
	var j Judge
	feed(&j, 0, 4, 30e9)
	j.Add(mark(1, 4, "on", "off"))
	feed(&j, 4, 7, 7e9)
	j.Add(mark(2, 7, "off", "on"))
	got := feed(&j, 7, 12, 30e9)
	if len(got) != 6 || got[0].Mark != 1 || got[0].Answer != Worse || got[3].Mark != 2 || got[3].Answer != Better {
		t.Fatalf("%+v", got)
	}
}

func TestJudgeSaysNothingOfWhatDidNotMove(t *testing.T) {
	var j Judge
	feed(&j, 0, 4, 30e9)
	m := mark(1, 4, "on", "on")
	m.Outcome = "refused"
	j.Add(m)
	if got := feed(&j, 4, 10, 30e9); got != nil {
		t.Errorf("%+v", got[0])
	}
}

func TestJudgeAddsDirectionsOfOneTick(t *testing.T) {
	var j Judge
	j.Add(&metric.Frame{T: 1, Dir: metric.Out, RxBps: metric.N(1)})
	j.Add(&metric.Frame{T: 1, Dir: metric.In, RxBps: metric.N(2), JitterMs: metric.N(5)})
	if len(j.samples) != 1 || j.samples[0].bps != 3 || j.samples[0].jitter != 5 {
		t.Errorf("%+v", j.samples)
	}
}

func BenchmarkJudge(b *testing.B) {
	before, after := noisy(1, 80, 30, 0.05), noisy(2, 30, 7, 0.05)
	for b.Loop() {
		Compare(before, after, true, 0)
	}
}
