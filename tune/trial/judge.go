package trial

import (
	"math"

	"github.com/ethtune/ethtune/engine/metric"
)

// Times of a single before and after, in seconds.
const (
	// Settle is left out after a turn: the transport's ramp and the estimators' memory.
	Settle = 1.0
	// After is how much is measured once settled.
	After = 3.0
	// Before is how much of the time before is compared at most.
	Before = 8.0
	// keep is how long samples are held, seconds.
	keep = 60.0
)

// sample is all directions of one tick together.
type sample struct {
	t             float64
	bps, jitter   float64 // NaN = absent
	lost, packets float64
}

// turn is marks that came too close after one another to be told apart.
type turn struct {
	first, last float64 // times of the first and the last mark
	marks       []metric.Mark
}

// Judge listens to the records of a feed and gives a verdict on each turn once its time has come. It keeps a minute of
// samples. It is not safe for concurrent use.
type Judge struct {
	samples []sample
	rate    metric.Bandwidth
	open    []*turn // oldest first; all but the newest are cut short by their follower
	lastEnd float64 // last mark of the turn judged last
	ever    bool
}

// Add takes the next record in the feed's order and returns the verdicts that are due.
func (j *Judge) Add(rec metric.Record) []*Verdict {
	switch r := rec.(type) {
	case *metric.Frame:
		j.frame(r)
		return j.due(r.T)
	case *metric.Mark:
		j.mark(r)
	}
	return nil
}

func (j *Judge) frame(f *metric.Frame) {
	bps, _ := j.rate.Of(f)
	s := sample{t: f.T, bps: bps.Float(), jitter: f.JitterMs.Float(), lost: f.Lost.Or(0), packets: f.Packets.Or(0)}
	if n := len(j.samples); n > 0 && j.samples[n-1].t == f.T { // the other direction of the same tick
		p := &j.samples[n-1]
		p.bps += s.bps // absent where either is: half of the traffic is no sample of it
		p.jitter = maxPresent(p.jitter, s.jitter)
		p.lost, p.packets = p.lost+s.lost, p.packets+s.packets
		return
	}
	j.samples = append(j.samples, s)
	drop := 0
	for drop < len(j.samples) && j.samples[drop].t < f.T-keep {
		drop++
	}
	j.samples = j.samples[drop:]
}

// mark opens a turn, joins the running one, or closes a mark that was pending. A turn that moved nothing is not judged.
func (j *Judge) mark(m *metric.Mark) {
	for _, t := range j.open {
		for i := range t.marks {
			if t.marks[i].N == m.N {
				t.marks[i] = *m
				return
			}
		}
	}
	if n := len(j.open); n > 0 && m.T-j.open[n-1].last < Settle {
		t := j.open[n-1]
		t.marks = append(t.marks, *m)
		t.last = m.T
		return
	}
	j.open = append(j.open, &turn{first: m.T, last: m.T, marks: []metric.Mark{*m}})
}

// due judges the turns whose time has come at now.
func (j *Judge) due(now float64) []*Verdict {
	var out []*Verdict
	for len(j.open) > 0 {
		t := j.open[0]
		until := t.last + Settle + After
		if len(j.open) > 1 {
			until = min(until, j.open[1].first)
		}
		if now < until || t.pending() {
			break
		}
		out = append(out, j.judge(t, until)...)
		j.lastEnd, j.ever = t.last, true
		j.open = j.open[1:]
	}
	return out
}

func (t *turn) pending() bool {
	for _, m := range t.marks {
		if m.Outcome == metric.Pending {
			return true
		}
	}
	return false
}

func (j *Judge) judge(t *turn, until float64) []*Verdict {
	var moved []metric.Mark
	for _, m := range t.marks {
		if m.Got != m.From || len(m.Also) > 0 {
			moved = append(moved, m)
		}
	}
	if len(moved) == 0 {
		return nil
	}
	from := t.first - Before
	if j.ever {
		from = max(from, j.lastEnd+Settle)
	}
	a, b := j.window(from, t.first), j.window(t.last+Settle, until)
	m := moved[len(moved)-1]
	base := Verdict{Mark: m.N, Knob: m.Knob, Side: m.Side, A: m.From, B: m.Got, Pairs: 1}
	for _, o := range moved[:len(moved)-1] {
		base.With = append(base.With, o.N)
	}
	bps := base.with(Bandwidth, Compare(a.bps, b.bps, true, 0))
	jit := base.with(Jitter, Compare(a.jitter, b.jitter, false, JitterFloor))
	loss := base.with(Loss, CompareLoss(a.lost, a.packets, b.lost, b.packets))
	return []*Verdict{bps, jit, loss}
}

func (v Verdict) with(name string, d Difference) *Verdict {
	v.Metric, v.Before, v.After, v.DeltaPct = name, d.Before, d.After, d.DeltaPct
	v.Answer, v.Reason = d.Answer, d.Reason
	if !math.IsNaN(d.Lo) && !math.IsNaN(d.Hi) {
		v.CI95 = []float64{d.Lo, d.Hi}
	}
	return &v
}

type window struct {
	bps, jitter   []float64
	lost, packets float64
}

// window gathers the samples whose interval ended within (from, to].
func (j *Judge) window(from, to float64) window {
	var w window
	for _, s := range j.samples {
		if s.t > from && s.t <= to {
			w.bps = append(w.bps, s.bps)
			w.jitter = append(w.jitter, s.jitter)
			w.lost, w.packets = w.lost+s.lost, w.packets+s.packets
		}
	}
	return w
}

func maxPresent(a, b float64) float64 {
	switch {
	case math.IsNaN(a):
		return b
	case math.IsNaN(b):
		return a
	}
	return max(a, b)
}
