package pane

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
)

const (
	// seriesKeep is how many samples a chart can look back on: an hour at 10 Hz.
	seriesKeep = 36_000
	// keepMarks is how many mark lines are kept.
	keepMarks = 1000
	// fresh is how old a jitter value may be and still be called now, in seconds.
	fresh = 3.0
)

// Scope is the three charts on their one time axis. They show one direction: the load's way out, or the way in while
// there is no other; with both, the way in is the second trace of the bandwidth.
type Scope struct {
	bandwidth, jitter, loss trace
	rate                    metric.Bandwidth
	inward                  *chart.Series // bandwidth of the other direction
	lost                    pool

	marks   []mark
	cursor  int // the mark under the cursor, counted from the newest and from 1; 0 = none
	window  chart.Window
	lines   []chart.Mark // of window
	probe   int          // echo datagrams a second
	last    float64      // time of the newest Frame
	lastOut float64      // time of the newest Frame of the way out
	arrived time.Time    // when the newest Frame came
	shown   readings
	frozen  bool
}

// mark is a turn that moved something.
type mark struct {
	n int
	t float64
}

// trace is what one chart shows.
type trace struct {
	name   string
	series *chart.Series
	plot   chart.Plot
	scale  chart.Scale
	since  since
	source string // where the value comes from
}

// reading is what a chart's title says, in the chart's base unit; NaN = not measured.
type reading struct{ now, median, p99 float64 }

// readings are those of all charts at one moment.
type readings struct {
	at                      float64 // seconds since traffic flowed
	bandwidth, jitter, loss reading
	in                      float64 // bandwidth of the other direction
	since                   int     // the mark that medians count from, 0 = the start
}

// NewScope returns empty charts for a load that has probe echo datagrams a second beside it.
func NewScope(probe int) *Scope {
	s := &Scope{probe: probe, inward: chart.NewSeries(seriesKeep), lastOut: math.Inf(-1)}
	s.window.PerDot = 1
	s.bandwidth.init("bandwidth", chart.Line, chart.Scale{Unit: chart.BitRate})
	s.bandwidth.plot.Second = s.inward
	s.jitter.init("jitter", chart.Line, chart.Scale{Unit: chart.Seconds, Log: true})
	s.loss.init("loss", chart.Impulse, chart.Scale{Unit: chart.Percent})
	s.loss.series.Every = 1
	s.shown = s.read()
	return s
}

func (t *trace) init(name string, kind chart.Kind, scale chart.Scale) {
	t.name, t.scale, t.series = name, scale, chart.NewSeries(seriesKeep)
	t.plot = chart.Plot{Series: t.series, Kind: kind, Scale: &t.scale}
}

func (t *trace) add(at, v float64) {
	t.series.Add(at, v)
	t.since.add(v)
}

// Add takes a record of the feed, which came at the time at.
func (s *Scope) Add(rec metric.Record, at time.Time) {
	switch r := rec.(type) {
	case *metric.Frame:
		s.arrived = at
		s.last = max(s.last, r.T)
		s.frame(r)
	case *metric.Mark:
		if r.Outcome != metric.Pending && (r.Got != r.From || len(r.Also) > 0) {
			s.mark(r)
		}
	}
}

func (s *Scope) frame(f *metric.Frame) {
	switch {
	case f.Dir == metric.Out:
		s.lastOut = f.T
	case f.T-s.lastOut < 1:
		s.inward.Add(f.T, f.RxBps.Float())
		return
	}
	s.bandwidthOf(f)
	s.jitter.add(f.T, f.JitterMs.Float()/1e3)
	if f.JitterFrom != "" {
		s.jitter.source = s.from(f.JitterFrom)
		if f.JitterClock != "" {
			s.jitter.source += ", " + f.JitterClock + " clock"
		}
	}
	if f.LossFrom != "" {
		s.loss.source = s.from(f.LossFrom)
	}
	if pct, ok := s.lost.add(f); ok {
		s.loss.add(f.T, pct)
	}
}

// bandwidthOf takes what arrived; a peer that cannot tell leaves what was acknowledged or sent, which is then said.
func (s *Scope) bandwidthOf(f *metric.Frame) {
	v, received := s.rate.Of(f)
	switch {
	case received:
		s.bandwidth.source = "received"
	case !v.IsZero():
		s.bandwidth.source = "sent"
	}
	s.bandwidth.add(f.T, v.Float())
}

func (s *Scope) from(place string) string {
	if place == metric.FromProbe && s.probe > 0 {
		return fmt.Sprintf("probe %d/s", s.probe)
	}
	return place
}

func (s *Scope) mark(m *metric.Mark) {
	s.marks = append(s.marks, mark{m.N, m.T})
	s.lines = append(s.lines, chart.Mark{T: m.T, Label: strconv.Itoa(m.N)})
	if len(s.marks) > keepMarks {
		s.marks, s.lines = slices.Delete(s.marks, 0, 1), slices.Delete(s.lines, 0, 1)
	}
	if s.cursor > 0 {
		s.cursor = min(s.cursor+1, len(s.marks))
	}
	for _, t := range []*trace{&s.bandwidth, &s.jitter, &s.loss} {
		t.since.reset()
	}
	s.lost.block, s.lost.span = tally{}, 0
}

// Tick brings the readings up to date for a frame drawn at the time at. It does nothing while frozen.
func (s *Scope) Tick(at time.Time) {
	if s.frozen {
		return
	}
	s.shown = s.read()
	// Time goes on when nothing is measured, so that a silence is seen as a gap and not as a standstill.
	if quiet := at.Sub(s.arrived).Seconds() - 1; quiet > 0 && !s.arrived.IsZero() {
		s.shown.at += quiet
	}
}

func (s *Scope) read() readings {
	r := readings{
		at:        s.last,
		bandwidth: s.bandwidth.read(meanOf(s.bandwidth.series, s.last)),
		jitter:    s.jitter.read(math.NaN()),
		loss:      s.loss.read(s.lost.reading()),
		in:        math.NaN(),
	}
	if n := len(s.marks); n > 0 {
		r.since = s.marks[n-1].n
	}
	if t, v, ok := s.jitter.series.Measured(); ok && s.last-t < fresh {
		r.jitter.now = v
	}
	if t, _, ok := s.inward.Last(); ok && s.last-t < 1 {
		r.in = meanOf(s.inward, s.last)
	}
	return r
}

func (t *trace) read(now float64) reading {
	return reading{now: now, median: t.since.quantile(0.5), p99: t.since.quantile(0.99)}
}

// meanOf is the mean of the last second, so that the reading does not flicker with every tick.
func meanOf(s *chart.Series, now float64) float64 {
	b := s.Span(now-0.95, now+0.01)
	if b.N == 0 {
		return math.NaN()
	}
	return b.Mean
}

// Freeze stops or resumes the picture. Measuring goes on.
func (s *Scope) Freeze(on bool) { s.frozen = on }

// Frozen reports whether the picture stands still.
func (s *Scope) Frozen() bool { return s.frozen }

// Do carries out an action.
func (s *Scope) Do(a Action) Intent {
	switch a {
	case MarkBack:
		s.cursor = min(s.cursor+1, len(s.marks))
	case MarkOn:
		s.cursor = max(s.cursor-1, 0)
	case ToNow, Back:
		s.cursor = 0
	case TimeIn:
		s.window.PerDot = chart.ZoomIn(s.window.PerDot)
	case TimeOut:
		s.window.PerDot = chart.ZoomOut(s.window.PerDot)
	}
	if a == MarkBack && len(s.marks) == 0 {
		return Say{Text: "There is no mark yet: turn a knob to set one."}
	}
	return nil
}

// Marked is the number of the mark under the cursor, 0 without one.
func (s *Scope) Marked() int {
	if m, ok := s.underCursor(); ok {
		return m.n
	}
	return 0
}

func (s *Scope) underCursor() (mark, bool) {
	if s.cursor == 0 || s.cursor > len(s.marks) {
		return mark{}, false
	}
	return s.marks[len(s.marks)-s.cursor], true
}
