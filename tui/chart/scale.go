package chart

import "math"

// Scale is the range of a value axis. It has no clock: time comes in with the data. The zero Scale is ready for use.
// Its floor is 0, or with Log a power of ten.
type Scale struct {
	Unit Unit
	Log  bool // decades instead of equal steps; what is not positive sits on the floor
	Lock bool // keep the range as it is

	lo, hi float64 // in the base unit; hi is 0 before the first Fit
	logged bool    // what Log was when the range was made
	step   int     // which of the unit's steps

	smaller        bool // a smaller range would have done since
	since          float64
	needLo, needHi float64 // that range
}

// shrinkAfter is how long (s) a smaller range must have been enough before an axis shrinks: an axis that breathes with
// its data hides the very change one looks for.
const shrinkAfter = 30

// Fit makes the range hold lo to hi, the least and the greatest value in view, at time now (s). It grows at once and
// shrinks when a smaller range would have done for 30 s. Values that are not finite change nothing.
func (s *Scale) Fit(now, lo, hi float64) {
	if s.Lock && s.hi > 0 && s.Log == s.logged || !finite(lo) || !finite(hi) {
		return
	}
	lo, hi = s.nice(lo, hi)
	if s.hi == 0 || s.Log != s.logged {
		s.set(lo, hi)
		return
	}
	if lo < s.lo || hi > s.hi {
		s.set(s.nice(min(lo, s.lo), max(hi, s.hi)))
		return
	}
	if lo == s.lo && hi == s.hi {
		s.smaller = false
		return
	}
	if !s.smaller || now < s.since {
		s.smaller, s.since, s.needLo, s.needHi = true, now, lo, hi
	}
	s.needLo, s.needHi = min(s.needLo, lo), max(s.needHi, hi)
	if now-s.since >= shrinkAfter {
		s.set(s.nice(s.needLo, s.needHi))
	}
}

func (s *Scale) set(lo, hi float64) {
	old := s.step
	if s.hi == 0 {
		old = -1
	}
	s.lo, s.hi, s.logged, s.smaller = lo, hi, s.Log, false
	s.step = s.Unit.step(old, lo, hi)
}

// Range returns the ends of the axis in the base unit. Before anything was fitted they are those of an idle screen.
func (s *Scale) Range() (lo, hi float64) {
	if s.hi > 0 {
		return s.lo, s.hi
	}
	idle := s.Unit.idle()
	return s.nice(idle, idle)
}

// Frac places v on the axis: 0 is the floor, 1 the top, clipped. NaN stays NaN.
func (s *Scale) Frac(v float64) float64 { return s.ruler().frac(v) }

// tops are the nice ends of a linear axis: they and their halves are short numbers.
var tops = [...]float64{1, 2, 4, 6, 8, 10}

// nice returns the axis that holds lo to hi: from 0 to a short number, or an even count of decades, so that the label in
// the middle is a power of ten as well.
func (s *Scale) nice(lo, hi float64) (float64, float64) {
	least, most := s.Unit.bounds()
	hi = min(max(hi, least), most)
	if !s.Log {
		decade := math.Pow10(int(math.Floor(math.Log10(hi) + 1e-9)))
		for _, t := range tops {
			if hi <= t*decade*(1+1e-9) {
				return 0, min(t*decade, most)
			}
		}
		return 0, min(10*decade, most)
	}
	const widest = 6 // decades; more would flatten everything
	top := int(math.Ceil(math.Log10(hi) - 1e-9))
	bottom := top - 2
	if lo > 0 {
		bottom = min(int(math.Floor(math.Log10(max(lo, least))+1e-9)), top)
	}
	bottom = max(bottom, top-widest)
	top = max(top, bottom+2)
	if (top-bottom)%2 != 0 {
		top++
	}
	return math.Pow10(bottom), math.Pow10(top)
}

// ruler places values on an axis that stands still for a frame.
type ruler struct {
	lo, scale float64
	log       bool
}

func (s *Scale) ruler() ruler {
	lo, hi := s.Range()
	if s.Log {
		l := math.Log10(lo)
		return ruler{l, 1 / (math.Log10(hi) - l), true}
	}
	return ruler{lo, 1 / (hi - lo), false}
}

func (r ruler) frac(v float64) float64 {
	if r.log && v == v {
		// A value of 0 has no logarithm and belongs on the floor.
		v = math.Log10(max(v, math.SmallestNonzeroFloat64))
	}
	f := (v - r.lo) * r.scale
	if f != f {
		return f
	}
	return min(max(f, 0), 1)
}

// level is which of n levels v falls into, 0 to n-1. v must not be NaN.
func (r ruler) level(v float64, n int) int {
	return min(int(r.frac(v)*float64(n)), n-1)
}

// UnitText is the unit the axis and its readings are in now, as in "Gbit/s". Give it to [Glyphs.Text] before painting.
func (s *Scale) UnitText() string { return s.Unit.at(s.shown()).name }

// Number writes v, in the base unit, in the unit of the axis: at most 5 cells, as [Number], [NumberLoss]
// and, where the axis has decades, [NumberFine] do.
func (s *Scale) Number(v float64) string {
	if s.Unit == Percent {
		return NumberLoss(v)
	}
	v /= s.Unit.at(s.shown()).size
	if s.Log {
		return NumberFine(v)
	}
	return Number(v)
}

// shown is the step of the unit that is in force, also before anything was fitted.
func (s *Scale) shown() int {
	if s.hi > 0 {
		return s.step
	}
	lo, hi := s.Range()
	return s.Unit.step(-1, lo, hi)
}

// appendTick writes the value at the fraction f of the axis, nothing where it is not a short number.
func (s *Scale) appendTick(b []byte, f float64) []byte {
	lo, hi := s.Range()
	v := lo + f*(hi-lo)
	if s.Log {
		e := math.Log10(lo) + f*(math.Log10(hi)-math.Log10(lo))
		if math.Abs(e-math.Round(e)) > 1e-6 {
			return b
		}
		v = math.Pow10(int(math.Round(e)))
	}
	return appendLabel(b, v/s.Unit.at(s.shown()).size)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
