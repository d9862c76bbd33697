package pane

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
)

// linkLines draws the tables of l and gives each row's words.
func linkLines(l *Link, out, in float64) [][]string {
	g := chart.NewGrid(40, LinkRows)
	l.Draw(Brush{Grid: g}, Rect{0, 0, 40, LinkRows}, out, in)
	var lines [][]string
	for _, line := range strings.Split(g.String(), "\n") {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

// Before anything is measured, no number is shown.
func TestLinkOfNothing(t *testing.T) {
	for i, words := range linkLines(NewLink(), math.NaN(), math.NaN()) {
		for _, w := range words {
			if w[0] >= '0' && w[0] <= '9' {
				t.Errorf("row %d: %q", i, words)
			}
		}
	}
}

func wireFrame(at float64, dir metric.Dir) *metric.Frame {
	f := &metric.Frame{T: at, Span: 0.1, Dir: dir, SoftnetDrops: metric.N(2)}
	if dir == metric.Out {
		f.Host = &metric.Host{NIC: &metric.NIC{Device: "eth0", TxBytes: 125e6 / 10, RxBytes: 1e4, RxErrors: 1, RxDropped: 2}}
		f.LostAt = &metric.LostAt{Sender: metric.N(0), Path: metric.N(1500)}
	}
	return f
}

// Rates are of a second, of both directions together where they are of the load, and counts are since the last mark.
func TestLinkRates(t *testing.T) {
	l := NewLink()
	at := 0.0
	second := func() {
		for range 10 {
			at += 0.1
			l.Add(wireFrame(at, metric.Out))
			l.Add(wireFrame(at, metric.In))
		}
	}
	second()
	slow := wireFrame(at+0.1, metric.Out)
	slow.Host.Slow = &metric.HostSlow{LinkBps: metric.N(2.5e9)}
	l.Add(slow)
	got := linkLines(l, 0.9e9, math.NaN())
	for row, want := range map[int]string{
		0: "link eth0 out in", 1: "speed 2500 Mbit/s", 2: "on the wire Mbit/s 1000 0.8", 3: "goodput Mbit/s 900.0 –",
		4: "dropped here /s 0 30", 6: "drops by place /s since start", 7: "sender 0 0", 8: "path 15 k 16 k", 9: "NIC – –",
		10: "softnet 38 42", 11: "receiver socket – –",
	} {
		if !slices.Equal(got[row], strings.Fields(want)) {
			t.Errorf("row %d: %q, want %q", row, got[row], want)
		}
	}
	l.Add(&metric.Mark{N: 7, From: "1", Got: "2", Outcome: "applied"})
	at += 0.1
	second()
	if got := linkLines(l, 0, 0); got[6][5] != "7" || got[8][3] != "15" {
		t.Errorf("since a mark: %q %q", got[6], got[8])
	}
	l.Add(&metric.Frame{T: at + 2*fresh, Span: 0.1, Dir: metric.Out})
	if got := linkLines(l, 0, 0); got[2][4] != none || got[8][1] != none {
		t.Errorf("when nothing is told any more: %q %q", got[2], got[8])
	}
}

// An end that tells of its drops once in a while tells of all the time since.
func TestFlowingOfRareReports(t *testing.T) {
	var f flowing
	at := 0.0
	for i := range 60 {
		n := metric.Num{}
		if i%20 == 19 {
			n = metric.N(40)
		}
		at += 0.1
		f.add(at, n, 0.1)
	}
	if got := f.now(at).Or(0); got < 19.9 || got > 20.1 {
		t.Errorf("40 every two seconds are %g a second", got)
	}
}

func TestCounts(t *testing.T) {
	for v, want := range map[float64]string{math.NaN(): none, 0: "0", 0.2: "1", 12: "12", 9999: "9999", 811e3: "811 k"} {
		if got := counted(v); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{100e9: "100 Gbit/s", 2.5e9: "2500 Mbit/s", 10e6: "10 Mbit/s", 0: none} {
		if got := speedText(metric.N(v)); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
	for v, want := range map[float64]string{12: "12.0 B", 2048: "2.0 Ki", 1.9 * (1 << 20): "1.9 Mi"} {
		if got := memoryText(metric.N(v)); got != want {
			t.Errorf("%g: %q, want %q", v, got, want)
		}
	}
}
