package chart

import (
	"math"
	"sort"
)

// Series is a bounded record of samples that thins out by age: the last `keep` samples as they came, whole seconds further
// back, and whole minutes for a week, each with its least, its most and its mean. A sample that is NaN says that nothing was
// measured then. It belongs to one goroutine.
type Series struct {
	// Every is the usual distance of samples in seconds, 0.1 unless positive. A pause of more than 2.5 of it is a gap;
	// anything shorter is a late sample.
	Every float64

	raw     ring[sample]
	seconds tier
	minutes tier
}

type sample struct{ t, v float64 }

// minKeep and maxKeep bound what a Series remembers; 1<<22 samples at 10 Hz are nearly five days.
const (
	minKeep = 16
	maxKeep = 1 << 22
	// keepMinutes is a week of them, in 400 KB.
	keepMinutes = 7 * 24 * 60
)

// NewSeries returns an empty series that keeps the last `keep` samples (at least 16, at most 1<<22) and as many seconds as
// a quarter of that: at 10 Hz, two and a half times as long. A full series takes 26 bytes a sample, and those of the minutes.
func NewSeries(keep int) *Series {
	keep = min(max(keep, minKeep), maxKeep)
	return &Series{
		raw:     ring[sample]{keep: keep},
		seconds: tier{width: 1, ring: ring[slot]{keep: max(keep/4, minKeep)}},
		minutes: tier{width: 60, ring: ring[slot]{keep: keepMinutes}},
	}
}

// Add appends a sample. Times must not decrease: a sample older than the last, or at no finite time, is dropped. A value
// that is not finite is kept as not measured.
func (s *Series) Add(t, v float64) {
	if math.IsNaN(t) || math.IsInf(t, 0) {
		return
	}
	if n := s.raw.len(); n > 0 && t < s.raw.at(n-1).t {
		return
	}
	if math.IsInf(v, 0) {
		v = math.NaN()
	}
	s.raw.push(sample{t, v})
	s.seconds.add(t, v)
	s.minutes.add(t, v)
}

// Len is how many samples are kept, those that are NaN too.
func (s *Series) Len() int { return s.raw.len() }

// Last returns the newest sample, which may be NaN; ok is false while there is none.
func (s *Series) Last() (t, v float64, ok bool) {
	n := s.raw.len()
	if n == 0 {
		return 0, math.NaN(), false
	}
	last := s.raw.at(n - 1)
	return last.t, last.v, true
}

// Measured returns the newest sample that was measured; ok is false when none of those kept was.
func (s *Series) Measured() (t, v float64, ok bool) {
	for i := s.raw.len() - 1; i >= 0; i-- {
		if m := s.raw.at(i); m.v == m.v {
			return m.t, m.v, true
		}
	}
	return 0, math.NaN(), false
}

// Range appends the measured values of from <= t < to to dst and returns it. They are the caller's.
func (s *Series) Range(dst []float64, from, to float64) []float64 {
	for i := s.search(from); i < s.raw.len(); i++ {
		m := s.raw.at(i)
		if !(m.t < to) {
			break
		}
		if m.v == m.v {
			dst = append(dst, m.v)
		}
	}
	return dst
}

// Span is the Bin of from <= t < to, for a reading under the cursor. Further back than single samples are kept, it is
// that of the whole seconds that begin in the span, and further back than those of the minutes.
func (s *Series) Span(from, to float64) Bin {
	var a acc
	if s.raw.len() > 0 && from < s.raw.at(0).t && s.raw.len() == s.raw.keep {
		t := &s.seconds
		if t.forgets(from) {
			t = &s.minutes
		}
		for i := t.search(from); i < t.len() && t.at(i).begin(t.width) < to; i++ {
			a.merge(&t.at(i).acc)
		}
		return a.bin()
	}
	for i := s.search(from); i < s.raw.len() && s.raw.at(i).t < to; i++ {
		a.add(s.raw.at(i).v)
	}
	return a.bin()
}

// search is the position of the first sample at or after t.
func (s *Series) search(t float64) int {
	return sort.Search(s.raw.len(), func(i int) bool { return s.raw.at(i).t >= t })
}

// oldest is the time of the earliest thing that is kept.
func (s *Series) oldest() (float64, bool) {
	switch {
	case s.raw.len() == 0:
		return 0, false
	case s.raw.len() < s.raw.keep:
		return s.raw.at(0).t, true
	case s.seconds.len() < s.seconds.keep:
		return s.seconds.oldest(), true
	}
	return s.minutes.oldest(), true
}
