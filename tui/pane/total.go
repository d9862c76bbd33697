package pane

import (
	"math"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
)

// totalKeep is how many seconds the chart of a server can look back on.
const totalKeep = 3600

// Total is the chart of a server: what it receives from all guests together and, behind that, what it sends. It takes one
// sample a second. With nobody there it is 0, which is known; while guests are silent it is not, and the chart has a gap.
// All of it is in Mbit/s, as the list of guests is.
type Total struct {
	in, out *chart.Series
	plot    chart.Plot
	scale   chart.Scale
	since   since // in Mbit/s, of what was received since somebody last came or went
	window  chart.Window

	speeds        map[int]*speed
	gone, goneOut float64 // bits of those who have left since the last sample, after their last record
	began         time.Time
	last          int64 // the newest second that was looked at
	lost          bool
	shown         totals
	frozen        bool
}

// totals are the readings at one moment, in Mbit/s; NaN = not measured.
type totals struct {
	at                   float64 // seconds since the server began
	in, out, median, p99 float64
}

// NewTotal returns the chart of a server that began at the time at.
func NewTotal(at time.Time) *Total {
	t := &Total{in: chart.NewSeries(totalKeep), out: chart.NewSeries(totalKeep), speeds: make(map[int]*speed), began: at}
	t.in.Every, t.out.Every = 1, 1
	t.plot = chart.Plot{Series: t.in, Second: t.out, Scale: &t.scale}
	t.window.PerDot = 1
	none := math.NaN()
	t.shown = totals{0, none, none, none, none}
	return t
}

// Add takes what is told of a guest, which came at the time at.
func (t *Total) Add(g *metric.Guest, at time.Time) {
	s := t.speeds[g.ID]
	if s == nil {
		if g.Event == guestOut || len(t.speeds) >= metric.MaxSessions {
			return
		}
		s = &speed{}
		t.speeds[g.ID] = s
		t.since.reset()
	}
	in, out := s.add(g, at)
	if g.Event == guestOut {
		t.gone, t.goneOut = t.gone+in, t.goneOut+out
		delete(t.speeds, g.ID)
		t.since.reset()
	}
}

// Lose says that nothing is heard any more, not even that nobody is there.
func (t *Total) Lose() { t.lost = true }

// Tick takes a sample when a second is full, and brings the readings up to date unless frozen.
func (t *Total) Tick(at time.Time) {
	second := int64(at.Sub(t.began).Seconds() + 0.02) // a tick may come early
	if second > t.last {
		t.sample(at, second)
		t.last = second
	}
	if t.frozen {
		return
	}
	t.shown.at = float64(t.last)
	t.shown.median, t.shown.p99 = t.since.quantile(0.5), t.since.quantile(0.99)
	t.shown.in, t.shown.out = math.NaN(), math.NaN()
	if when, v, ok := t.in.Last(); ok && t.shown.at-when < speedHolds.Seconds() {
		t.shown.in = v
		_, t.shown.out, _ = t.out.Last()
	}
}

// sample adds up who is there at the time at. A guest that has told of itself but once takes no part yet.
func (t *Total) sample(at time.Time, second int64) {
	if t.lost {
		return
	}
	over := float64(second - t.last)
	in, out := t.gone/over, t.goneOut/over
	t.gone, t.goneOut = 0, 0
	known := len(t.speeds) == 0
	for _, s := range t.speeds {
		if s.known(at) {
			in, out, known = in+s.in, out+s.out, true
		} else if s.in == s.in {
			return // who was measured and fell silent makes the sum unknown
		}
	}
	if !known {
		return
	}
	in, out = in/1e6, out/1e6
	t.in.Add(float64(second), in)
	t.out.Add(float64(second), out)
	t.since.add(in)
}

// Freeze stops or resumes the picture. Measuring goes on.
func (t *Total) Freeze(on bool) { t.frozen = on }

// Frozen reports whether the picture stands still.
func (t *Total) Frozen() bool { return t.frozen }

// Draw paints a title, a plot and the axis of time into r, 3 rows and more.
func (t *Total) Draw(b Brush, r Rect) {
	if r.H < 3 || r.Empty() {
		return
	}
	// The margin of a plot begins in the screen's empty first column, left of the title.
	left := r.X - 1
	t.window.Now, t.window.Cells = t.shown.at, max(r.W+1-chart.Margin, 0)
	t.plot.Paint(b.Grid, left, r.Y+1, r.H-2, &t.window, b.Glyphs)
	chart.TimeAxis(b.Grid, left, r.Y+r.H-1, &t.window, b.Glyphs)
	t.drawTitle(b, r.Row(0))
}

func (t *Total) drawTitle(b Brush, r Rect) {
	b.Text(r.X, r.Y, r.W, "received", chart.Bold)
	b.Ending(r.X+titleNow, r.Y, t.scale.Number(t.shown.in), chart.Bold)
	x := b.Text(r.X+titleUnit, r.Y, r.W-titleUnit, "Mbit/s ", chart.Ink)
	right := r.Right()
	sent := Span{" sent " + t.scale.Number(t.shown.out), chart.Ink}
	swatch := Span{"●", chart.Second}
	switch {
	case r.W >= wideTitle:
		b.Spans(r.X+titleSource, r.Y, r.W-titleSource, Span{"all clients  ", chart.Faint}, swatch, sent)
		b.pair(right-13, r.Y, 13, "median", t.scale.Number(t.shown.median))
		b.pair(right, r.Y, 10, "p99", t.scale.Number(t.shown.p99))
		if r.W >= 100 {
			b.Ending(right-28, r.Y, "since somebody came or went", chart.Faint)
		}
	default:
		b.Spans(x+1, r.Y, right-x, swatch, sent)
	}
}

// OneLine paints what is received and sent, where there is no room for a chart, and returns the column after it.
func (t *Total) OneLine(b Brush, r Rect) int {
	t.scale.Fit(t.shown.at, t.shown.in, t.shown.in)
	x := b.Text(r.X, r.Y, r.W, t.scale.Number(t.shown.in)+" Mbit/s", chart.Ink)
	out := "  sent " + t.scale.Number(t.shown.out)
	if x+b.Width(out) <= r.Right()-2 {
		x = b.Text(x, r.Y, r.W, out, chart.Ink)
	}
	return x
}
