package chart

import (
	"math"
	"testing"
)

func TestScaleNice(t *testing.T) {
	for _, c := range []struct {
		unit           Unit
		log            bool
		lo, hi         float64
		wantLo, wantHi float64
		text           string
	}{
		{BitRate, false, 29e9, 31.3e9, 0, 40e9, "Gbit/s"},
		{BitRate, false, 900e6, 941e6, 0, 1e9, "Mbit/s"},
		{BitRate, false, 0, 0, 0, 1e3, "kbit/s"},
		{BitRate, false, 0, 1.351e9, 0, 2e9, "Mbit/s"},
		{BitRate, false, 1, 1e9, 0, 1e9, "Mbit/s"},
		{BitRate, false, 0, 1e40, 0, 1e15, "Tbit/s"},
		{BitRate, false, -5, -4, 0, 1e3, "kbit/s"},
		{Percent, false, 0, 0, 0, 2, "%"},
		{Percent, false, 0, 2.1, 0, 4, "%"},
		{Percent, false, 0, 87, 0, 100, "%"},
		{Percent, false, 0, 400, 0, 100, "%"},
		{Share, false, 0, 3, 0, 100, "%"},
		{PerSecond, false, 0, 0, 0, 10, "/s"},
		{PerSecond, false, 0, 1700, 0, 2000, "/s"},
		{PerSecond, false, 0, 17e3, 0, 20e3, "k/s"},
		{Seconds, false, 0, 21e-6, 0, 40e-6, "µs"},
		{Seconds, true, 3.6e-6, 90e-6, 1e-6, 100e-6, "µs"},
		{Seconds, true, 1e-6, 100e-6, 1e-6, 100e-6, "µs"},
		{Seconds, true, 3.6e-6, 101e-6, 1e-6, 10e-3, "µs"},
		{Seconds, true, 3.6e-6, 0.5, 1e-6, 1, "ms"},
		{Seconds, true, 0, 5e-6, 0.1e-6, 10e-6, "µs"},
		{Seconds, true, 20e-3, 30e-3, 10e-3, 1, "ms"},
		{Seconds, true, 0, 1e9, 1e2, 1e4, "s"},
	} {
		s := Scale{Unit: c.unit, Log: c.log}
		s.Fit(0, c.lo, c.hi)
		lo, hi := s.Range()
		if math.Abs(lo-c.wantLo) > 1e-9*c.wantLo || math.Abs(hi-c.wantHi) > 1e-9*c.wantHi || s.UnitText() != c.text {
			t.Errorf("unit %d log %v, %v to %v: axis %v to %v %s, want %v to %v %s", c.unit, c.log, c.lo, c.hi, lo, hi, s.UnitText(), c.wantLo, c.wantHi, c.text)
		}
	}
}

// TestScaleMotion: up at once, down after 30 s in which a smaller range would have done.
func TestScaleMotion(t *testing.T) {
	s := Scale{Unit: BitRate}
	top := func() float64 { _, hi := s.Range(); return hi }
	steps := []struct{ now, v, want float64 }{
		{0, 900e6, 1e9},
		{1, 1900e6, 2e9},  // up
		{2, 900e6, 2e9},   // smaller since 2
		{20, 1900e6, 2e9}, // not any more
		{21, 500e6, 2e9},  // smaller since 21
		{30, 700e6, 2e9},
		{50, 300e6, 2e9},
		{51, 300e6, 800e6}, // down, but not below what was seen since
		{52, 300e6, 800e6},
		{82, 300e6, 400e6},
	}
	for _, c := range steps {
		if s.Fit(c.now, 0, c.v); top() != c.want {
			t.Fatalf("at %v s with %v: top %v, want %v", c.now, c.v, top(), c.want)
		}
	}
	s.Lock = true
	if s.Fit(100, 0, 9e9); top() != 400e6 {
		t.Error("a locked axis moved")
	}
	s.Lock = false
	if s.Fit(100, math.NaN(), math.Inf(1)); top() != 400e6 {
		t.Error("an axis followed what is no number")
	}
}

// TestUnitHysteresis: a top of 2000 Mbit/s and one of 2 Gbit/s keep their names; below, the finer one says more.
func TestUnitHysteresis(t *testing.T) {
	s := Scale{Unit: BitRate}
	for _, c := range []struct {
		now, v       float64
		unit, number string
	}{
		{0, 941e6, "Mbit/s", "941.0"},
		{1, 1351e6, "Mbit/s", "1351"},
		{2, 2300e6, "Gbit/s", "2.3"},
		{100, 1351e6, "Gbit/s", "1.4"},
		{200, 1351e6, "Gbit/s", "1.4"},
		{300, 941e6, "Gbit/s", "0.9"},
		{400, 941e6, "Mbit/s", "941.0"},
	} {
		s.Fit(c.now, c.v, c.v)
		if s.UnitText() != c.unit || s.Number(c.v) != c.number {
			t.Errorf("at %v s: %s %s, want %s %s", c.now, s.Number(c.v), s.UnitText(), c.number, c.unit)
		}
	}
}

func TestFrac(t *testing.T) {
	lin := Scale{Unit: BitRate}
	lin.Fit(0, 0, 40e9)
	log := Scale{Unit: Seconds, Log: true}
	log.Fit(0, 1e-6, 100e-6)
	for _, c := range []struct {
		s       *Scale
		v, want float64
	}{
		{&lin, 0, 0}, {&lin, 20e9, 0.5}, {&lin, 40e9, 1}, {&lin, 1e300, 1}, {&lin, -1e300, 0}, {&lin, math.Inf(-1), 0},
		{&log, 1e-6, 0}, {&log, 10e-6, 0.5}, {&log, 1, 1}, {&log, 0, 0}, {&log, -3, 0}, {&log, math.Inf(1), 1},
	} {
		if got := c.s.Frac(c.v); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("Frac(%v) = %v, want %v", c.v, got, c.want)
		}
	}
	if !math.IsNaN(lin.Frac(math.NaN())) || !math.IsNaN(log.Frac(math.NaN())) {
		t.Error("what was not measured has a place on the axis")
	}
}

// TestSpikeLeavesTheRestReadable: an axis of decades that one spike took to milliseconds still tells microseconds.
func TestSpikeLeavesTheRestReadable(t *testing.T) {
	s := Scale{Unit: Seconds, Log: true}
	s.Fit(0, 2e-6, 0.3)
	if s.UnitText() != "ms" || s.Number(4.2e-6) != "0.004" || s.Number(0.3) != "300.0" {
		t.Errorf("%s and %s %s", s.Number(4.2e-6), s.Number(0.3), s.UnitText())
	}
}
