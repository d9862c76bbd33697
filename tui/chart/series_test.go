package chart

import (
	"math"
	"testing"
)

func TestSeriesRing(t *testing.T) {
	s := NewSeries(100)
	if _, _, ok := s.Last(); ok {
		t.Error("an empty series has a last sample")
	}
	if _, _, ok := s.Measured(); ok {
		t.Error("an empty series has a measured sample")
	}
	for i := range 1000 {
		s.Add(float64(i)/10, float64(i))
	}
	s.Add(99.95, math.NaN())
	s.Add(50, 1)              // older than the last
	s.Add(math.Inf(1), 1)     // at no time
	s.Add(99.96, math.Inf(1)) // no number
	if s.Len() != 100 {
		t.Errorf("%d samples kept, want 100", s.Len())
	}
	if at, v, ok := s.Last(); !ok || at != 99.96 || v == v {
		t.Errorf("last is %v at %v, %v", v, at, ok)
	}
	if at, v, ok := s.Measured(); !ok || at != 99.9 || v != 999 {
		t.Errorf("measured is %v at %v, %v", v, at, ok)
	}
	got := s.Range([]float64{-1}, 99.5, 99.8)
	if len(got) != 4 || got[0] != -1 || got[1] != 995 || got[3] != 997 {
		t.Errorf("range is %v", got)
	}
	if b := s.Span(99.5, 99.8); b.N != 3 || b.Min != 995 || b.Max != 997 || b.Mean != 996 {
		t.Errorf("span is %+v", b)
	}
	// Single samples are gone from here on, the seconds are not.
	if b := s.Span(80, 82); b.N != 20 || b.Min != 800 || b.Max != 819 {
		t.Errorf("span of seconds is %+v", b)
	}
	if b := s.Span(200, 300); b.N != 0 || b.Mean == b.Mean {
		t.Errorf("span of nothing is %+v", b)
	}
}

// TestBins: what is late is filled, what is missing is not, and seconds say the same as samples.
func TestBins(t *testing.T) {
	s := NewSeries(1000)
	for i := range 200 {
		switch {
		case i == 50, i >= 80 && i < 120:
			continue // One sample late by one, then a pause of 4 s.
		case i == 150:
			s.Add(float64(i)/10, math.NaN())
		default:
			s.Add(float64(i)/10, float64(i))
		}
	}
	tenth := make([]acc, 200)
	s.bins(tenth, 0, 0.1)
	for i, b := range tenth {
		switch want := !(i >= 80 && i < 120 || i == 150); {
		case (b.n > 0) != want:
			t.Errorf("bin %d of 0.1 s: measured %v, want %v", i, b.n > 0, want)
		case want && i != 50 && (b.n != 1 || b.min != float64(i)):
			t.Errorf("bin %d of 0.1 s holds %+v", i, b)
		}
	}
	if tenth[50].min != 51 {
		t.Errorf("a late bin holds %+v, want the next sample", tenth[50])
	}
	byHand, bySecond := make([]acc, 10), make([]acc, 10)
	s.bins(bySecond, 0, 2)
	for i := range byHand {
		for _, b := range tenth[20*i : 20*i+20] {
			if b.n > 0 {
				byHand[i].merge(&acc{b.min, b.max, 0, 1})
			}
		}
		if a, b := byHand[i], bySecond[i]; (a.n > 0) != (b.n > 0) || a.min != b.min || a.max != b.max {
			t.Errorf("bin %d of 2 s: %+v from tenths, %+v from seconds", i, a, b)
		}
	}
}

// TestSlowSeries: a peer that reports once a second is drawn without holes at a tenth of a second a dot.
func TestSlowSeries(t *testing.T) {
	s := NewSeries(100)
	s.Every = 1
	for i := range 10 {
		s.Add(float64(i)+0.03*float64(i%3), float64(i))
	}
	bins := make([]acc, 80)
	s.bins(bins, 0, 0.1)
	for i, b := range bins {
		if b.n == 0 {
			t.Errorf("bin %d is empty", i)
		}
	}
}

// TestSlowSeriesReachesBack: of one sample a second as many are drawn as are kept, not only as many as there are seconds.
func TestSlowSeriesReachesBack(t *testing.T) {
	s := NewSeries(100)
	s.Every = 1
	for i := range 300 {
		s.Add(float64(i), float64(i))
	}
	bins := make([]acc, 50)
	s.bins(bins, 100, 2)
	for i, b := range bins {
		if b.n != 2 || b.min != float64(200+2*i) {
			t.Fatalf("bin %d holds %+v", i, b)
		}
	}
}

func TestWindow(t *testing.T) {
	w := Window{Now: 100.5, Cells: 10}
	if from, to := w.Span(); from != 82 || to != 102 {
		t.Errorf("span is %v to %v", from, to)
	}
	for _, c := range []struct {
		t    float64
		cell int
		ok   bool
	}{{82, 0, true}, {81.9, 0, false}, {100, 9, true}, {101.9, 9, true}, {102, 0, false}, {math.NaN(), 0, false}} {
		if cell, ok := w.Column(c.t); cell != c.cell || ok != c.ok {
			t.Errorf("column of %v is %d, %v", c.t, cell, ok)
		}
	}
	if from, to := w.At(9); from != 100 || to != 102 {
		t.Errorf("the last cell is %v to %v", from, to)
	}
	w.Back = 20
	if from, to := w.Span(); from != 62 || to != 82 {
		t.Errorf("scrolled back 20 s: %v to %v", from, to)
	}
	if ZoomIn(1) != 0.5 || ZoomOut(1) != 2 || ZoomIn(0.1) != 0.1 || ZoomOut(60) != 120 || ZoomOut(600) != 600 || ZoomIn(math.NaN()) != 0.1 {
		t.Error("zoom steps")
	}
}

func TestGlyphs(t *testing.T) {
	const text = "▸ 5 µs ±2 → ×4 – ● ├──●──┤"
	for gl, want := range map[Glyphs]string{
		Braille:    text,
		Block:      text,
		BlockLinux: "> 5 µs ±2 → x4 - * ├──*──┤",
		ASCII:      "> 5 us +-2 -> x4 - * +--*--+",
	} {
		if got := gl.Text(text); got != want {
			t.Errorf("%s: %q, want %q", gl, got, want)
		}
		if back, err := ParseGlyphs(gl.String()); err != nil || back != gl {
			t.Errorf("%s parses as %v, %v", gl, back, err)
		}
	}
	if _, err := ParseGlyphs("emoji"); err == nil {
		t.Error("emoji are glyphs")
	}
}

// TestMinutes: what is too old for single samples and for seconds is still there by the minute, and no more is kept.
func TestMinutes(t *testing.T) {
	s := NewSeries(minKeep)
	const days = 9
	for sec := range days * 24 * 3600 {
		s.Add(float64(sec), float64(sec%60))
	}
	if s.minutes.len() != keepMinutes || s.minutes.len() != s.minutes.keep {
		t.Errorf("%d minutes are kept", s.minutes.len())
	}
	const week = 7 * 24 * 3600
	from := float64(days*24*3600 - week + 600)
	if b := s.Span(from, from+60); b.N != 60 || b.Min != 0 || b.Max != 59 || b.Mean != 29.5 {
		t.Errorf("a minute of a week ago: %+v", b)
	}
	if b := s.Span(0, 60); b.N != 0 {
		t.Errorf("the first minute is still there: %+v", b)
	}
	if at, ok := s.oldest(); !ok || at != float64(days*24*3600-week) {
		t.Errorf("the oldest is of %v", at)
	}
	got := make([]acc, 3)
	s.bins(got, int64(from)/120, 120)
	for i, a := range got {
		if a.n != 120 {
			t.Errorf("bin %d: %+v", i, a)
		}
	}
}
