package chart

import "math"

// Bin is what a stretch of time held. With N 0 nothing was measured and the values are NaN.
type Bin struct {
	Min, Max, Mean float64
	N              int // measured samples
}

// acc gathers a Bin. Its zero value is empty.
type acc struct {
	min, max, sum float64
	n             int
}

func (a *acc) add(v float64) {
	if v == v {
		a.merge(&acc{v, v, v, 1})
	}
}

func (a *acc) merge(b *acc) {
	switch {
	case b.n == 0:
	case a.n == 0:
		*a = *b
	default:
		a.min, a.max, a.sum, a.n = min(a.min, b.min), max(a.max, b.max), a.sum+b.sum, a.n+b.n
	}
}

func (a *acc) mean() float64 { return a.sum / float64(a.n) }

func (a *acc) bin() Bin {
	if a.n == 0 {
		return Bin{math.NaN(), math.NaN(), math.NaN(), 0}
	}
	return Bin{a.min, a.max, a.mean(), a.n}
}

// bins gathers into dst the bins first, first+1 ... of the given width in seconds. A bin between two samples that are
// only late, not missing, takes the later one's value: samples at 10 Hz do not fall evenly into bins of 0.1 s.
//
// Widths of whole minutes are gathered from the minutes and those of whole seconds from the seconds: that is less work, and
// they reach further back.
func (s *Series) bins(dst []acc, first int64, width float64) {
	clear(dst)
	b := binner{dst: dst, late: 2.5 * s.every()}
	// One sample before the first bin is wanted too, to know whether the first bins are only late.
	if t := s.tier(width); t != nil {
		whole := int64(width)
		for i := max(t.search(float64(first)*width)-1, 0); i < t.len(); i++ {
			sl := t.at(i)
			if !b.put(floorDiv(sl.number*t.width, whole)-first, sl.begin(t.width), &sl.acc) {
				break
			}
		}
		return
	}
	for i := max(s.search((float64(first)-2e-6)*width)-1, 0); i < s.raw.len(); i++ {
		var a acc
		m := s.raw.at(i)
		a.add(m.v)
		if !b.put(index(m.t, width)-first, m.t, &a) {
			return
		}
	}
}

// tier is the coarsest record of which bins of that width are made; nil where there is none but the samples, or where
// these, being one a second or fewer, reach further back than the seconds do.
func (s *Series) tier(width float64) *tier {
	switch {
	case width < 1 || width != math.Trunc(width):
		return nil
	case math.Mod(width, float64(s.minutes.width)) == 0:
		return &s.minutes
	case s.raw.len() > 0 && s.seconds.forgets(s.raw.at(0).t):
		return nil
	}
	return &s.seconds
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func (s *Series) every() float64 {
	if s.Every > 0 {
		return s.Every
	}
	return 0.1
}

// binner puts what comes in order of time into bins.
type binner struct {
	dst  []acc
	late float64 // s: a longer pause is a gap

	prev  int64 // bin of the last that was measured
	prevT float64
	have  bool
}

// put adds to bin i what was measured at time t, and says whether a later one can still matter.
func (b *binner) put(i int64, t float64, a *acc) bool {
	inside := i < int64(len(b.dst))
	if a.n == 0 {
		b.have = false
		return inside
	}
	if b.have && i > b.prev+1 && t-b.prevT <= b.late {
		for j := max(b.prev+1, 0); j < min(i, int64(len(b.dst))); j++ {
			b.dst[j] = *a
		}
	}
	b.prev, b.prevT, b.have = i, t, true
	if i >= 0 && inside {
		b.dst[i].merge(a)
	}
	return inside
}
