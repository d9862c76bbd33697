package pane

import (
	"math"
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
)

var opened = time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC)

func sinceOpen(s float64) time.Time { return opened.Add(time.Duration(s * float64(time.Second))) }

// told is what is told of a guest that moves in and out bit/s, s seconds after it came.
func told(id int, event string, s, in, out float64) *metric.Guest {
	return &metric.Guest{ID: id, Event: event, Seconds: s, RxBytes: uint64(in * s / 8), TxBytes: uint64(out * s / 8)}
}

// A speed is absent before two records, holds between them, and is given up when a guest falls silent or counts back.
func TestSpeed(t *testing.T) {
	var s speed
	s.add(told(1, "in", 0, 8e6, 0), sinceOpen(0))
	if s.known(sinceOpen(0)) {
		t.Error("one record is no speed")
	}
	s.add(told(1, "here", 0.05, 8e6, 0), sinceOpen(0.05))
	if s.known(sinceOpen(0.05)) {
		t.Error("two records at once are no speed")
	}
	s.add(told(1, "here", 1, 8e6, 4e6), sinceOpen(1))
	if !s.known(sinceOpen(2)) || s.in != 8e6 || s.out != 4e6 {
		t.Errorf("in %g out %g", s.in, s.out)
	}
	if s.known(sinceOpen(4)) {
		t.Error("a guest that is silent for 3 s has no speed")
	}
	s.add(told(1, "here", 2, 1, 0), sinceOpen(2))
	if s.known(sinceOpen(2)) {
		t.Error("counts that went back are no speed")
	}
}

// The sum is 0 while nobody is there, what is known of those who are, and nothing while one that was measured is silent.
// What a guest moved after its last record is not lost.
func TestTotalSamples(t *testing.T) {
	total := NewTotal(opened)
	want := func(s, v float64) {
		t.Helper()
		total.Tick(sinceOpen(s))
		if got := total.shown.in; math.Abs(got-v) > 1e-6 && !(got != got && v != v) {
			t.Errorf("after %g s: %g Mbit/s, want %g", s, got, v)
		}
	}
	nan := math.NaN()
	want(0.5, nan)
	want(1, 0)
	total.Add(told(1, "in", 0, 0, 0), sinceOpen(1.1))
	total.Add(told(1, "here", 0.4, 100e6, 50e6), sinceOpen(1.5))
	want(2, 100)
	if total.shown.out != 50 {
		t.Errorf("sent %g", total.shown.out)
	}
	total.Add(told(2, "in", 0, 0, 0), sinceOpen(2.2))
	want(3, 100) // the second has told of itself but once
	total.Add(told(1, "here", 1.4, 100e6, 50e6), sinceOpen(2.5))
	total.Add(told(2, "here", 1.4, 30e6, 0), sinceOpen(3.6))
	want(4, 130)
	total.Add(told(2, "out", 2.4, 30e6, 0), sinceOpen(4.6))
	total.Add(told(1, "here", 3.4, 100e6, 50e6), sinceOpen(4.5))
	want(5, 130)
	want(6, 100)
	want(8, 100) // silent, but a late record is no gap yet
	want(12, nan)
	total.Add(told(1, "out", 10.4, 0, 0), sinceOpen(12.5))
	want(13, 0)
	total.Lose()
	want(20, nan)
}

// While frozen the readings stay and the samples go on.
func TestTotalFreezes(t *testing.T) {
	total := NewTotal(opened)
	total.Tick(sinceOpen(1))
	total.Freeze(true)
	total.Tick(sinceOpen(2))
	if total.shown.at != 1 || total.in.Len() != 2 {
		t.Errorf("at %g with %d samples", total.shown.at, total.in.Len())
	}
	total.Freeze(false)
	total.Tick(sinceOpen(2.5))
	if total.shown.at != 2 {
		t.Errorf("at %g", total.shown.at)
	}
}
