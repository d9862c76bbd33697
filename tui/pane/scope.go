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

// Scope is the charts on their one time axis: bandwidth, jitter, loss, and where there is room the processors of the host.
// They show one direction: the load's way out, or the way in while there is no other; with both, the way in is the second
// trace of the bandwidth.
//
// Of TCP to a peer that answers no probe nobody knows jitter and loss. Then what the sending kernel says stands in their
// places, under its own names and in series of its own: the round trip, and the segments that were sent again.
type Scope struct {
	bandwidth, jitter, loss trace
	rtt, resent             trace
	rate                    metric.Bandwidth
	inward                  *chart.Series // bandwidth of the other direction
	lost                    pool
	again                   perSecond
	host                    *Host

	proto    metric.Proto
	jittered float64 // time of the newest Frame with a jitter
	kernel   bool    // the kernel's round trip is shown for want of a jitter

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
	at                       float64 // seconds since traffic flowed
	bandwidth, second, third reading
	host                     reading
	kernel                   bool    // second and third are of the round trip and of what was sent again
	in                       float64 // bandwidth of the other direction
	since                    int     // the mark that medians count from, 0 = the start
}

// NewScope returns empty charts for the load of spec, and of the processors that host knows.
func NewScope(spec metric.Spec, host *Host) *Scope {
	s := &Scope{probe: spec.Probe, proto: spec.Proto, host: host, inward: chart.NewSeries(seriesKeep), lastOut: math.Inf(-1)}
	s.jittered = firstJitter - fresh
	s.window.PerDot = 1
	s.bandwidth.init("bandwidth", chart.Line, chart.Scale{Unit: chart.BitRate})
	s.bandwidth.plot.Second = s.inward
	s.jitter.init("jitter", chart.Line, chart.Scale{Unit: chart.Seconds, Log: true})
	s.loss.init("loss", chart.Impulse, chart.Scale{Unit: chart.Percent})
	s.loss.series.Every = 1
	s.rtt.init("rtt", chart.Line, chart.Scale{Unit: chart.Seconds, Log: true})
	s.resent.init("resent", chart.Impulse, chart.Scale{Unit: chart.PerSecond})
	s.resent.series.Every = 1
	s.rtt.source, s.resent.source = metric.FromTCP, metric.FromTCP
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
		if r.Outcome != metric.Pending && moved(r) {
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
	s.kernelsOwn(f)
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
	for _, t := range []*trace{&s.bandwidth, &s.jitter, &s.loss, &s.rtt, &s.resent} {
		t.since.reset()
	}
	s.lost.block, s.lost.span = tally{}, 0
	s.again = perSecond{}
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
		host:      s.host.reading(),
		kernel:    s.kernel,
		in:        math.NaN(),
	}
	if s.kernel {
		r.second, r.third = s.rtt.read(meanOf(s.rtt.series, s.last)), s.resent.read(s.newest(&s.resent))
	} else {
		r.second, r.third = s.jitter.read(s.newest(&s.jitter)), s.loss.read(s.lost.reading())
	}
	if n := len(s.marks); n > 0 {
		r.since = s.marks[n-1].n
	}
	if t, _, ok := s.inward.Last(); ok && s.last-t < 1 {
		r.in = meanOf(s.inward, s.last)
	}
	return r
}

// Goodput is what arrives each way in bit/s, as it is shown; NaN where nothing is driven or known.
func (s *Scope) Goodput() (out, in float64) {
	if s.last-s.lastOut < 1 {
		return s.shown.bandwidth.now, s.shown.in
	}
	return math.NaN(), s.shown.bandwidth.now
}

// newest is the last value that was measured, NaN where that is not fresh any more.
func (s *Scope) newest(t *trace) float64 {
	if at, v, ok := t.series.Measured(); ok && s.last-at < fresh {
		return v
	}
	return math.NaN()
}

// lower are the traces of the second and the third chart, as they were when the readings were made.
func (s *Scope) lower() (second, third *trace) {
	if s.shown.kernel {
		return &s.rtt, &s.resent
	}
	return &s.jitter, &s.loss
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
