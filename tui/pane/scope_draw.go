package pane

import (
	"fmt"
	"time"

	"github.com/ethtune/ethtune/tui/chart"
)

// ScopeRows says how many rows each plot has. With 0 a chart is its title alone, and the host, which has a row for each
// processor, is not there.
type ScopeRows struct{ Bandwidth, Jitter, Loss, Host int }

// Height is all rows of the charts: their titles, plots and the axis.
func (r ScopeRows) Height() int {
	h := 3 + r.Bandwidth + r.Jitter + r.Loss
	if r.Host > 0 {
		h += 1 + r.Host
	}
	if r.Bandwidth > 0 {
		h++
	}
	return h
}

// Columns of a chart's title, from its left edge.
const (
	titleNow    = 14 // last column of the value now
	titleUnit   = 16
	titleSource = 23
)

// wideTitle is the width from which a title has room for its source and for the mark its median counts from.
const wideTitle = 66

// Draw paints the charts into r at the time at. lost says that nothing is heard from the other end any more.
func (s *Scope) Draw(b Brush, r Rect, rows ScopeRows, focus, lost bool, at time.Time) {
	if r.Empty() {
		return
	}
	// The margin of a plot begins in the screen's empty first column, left of the titles.
	left := r.X - 1
	s.place(r.W + 1 - chart.Margin)
	y := r.Y
	aged := ""
	if lost && !s.arrived.IsZero() {
		aged = age(at.Sub(s.arrived).Seconds())
	}
	second, third := s.lower()
	for _, c := range []struct {
		t    *trace
		v    reading
		rows int
	}{
		{&s.bandwidth, s.shown.bandwidth, rows.Bandwidth},
		{second, s.shown.second, rows.Jitter},
		{third, s.shown.third, rows.Loss},
	} {
		// The plot first: it fits the scale, and the title is in the scale's unit.
		if c.rows > 0 {
			c.t.plot.Paint(b.Grid, left, y+1, c.rows, &s.window, b.Glyphs)
		} else {
			c.t.scale.Fit(s.shown.at, c.v.now, c.v.now)
		}
		t := title{c.t, c.v, aged, focus && c.t == &s.bandwidth}
		s.drawTitle(b, Rect{r.X, y, r.W, 1}, t, rows.Bandwidth > 0)
		y += 1 + c.rows
		if c.t == &s.bandwidth && rows.Jitter == 0 && rows.Bandwidth > 0 {
			chart.TimeAxis(b.Grid, left, y, &s.window, b.Glyphs)
			y++
		}
	}
	if rows.Host > 0 {
		s.host.busy.source = s.host.caption(rows.Host)
		s.drawTitle(b, Rect{r.X, y, r.W, 1}, title{&s.host.busy, s.shown.host, aged, false}, true)
		s.host.paintHeat(b, left, y+1, rows.Host, &s.window)
		y += 1 + rows.Host
	}
	if rows.Jitter > 0 {
		chart.TimeAxis(b.Grid, left, y, &s.window, b.Glyphs)
	}
}

// place sets the window to what is shown now: the newest moment, or the time around the mark under the cursor.
func (s *Scope) place(cells int) {
	w := &s.window
	w.Now, w.Cells, w.Marks, w.Cursor, w.Back = s.shown.at, max(cells, 0), s.lines, 0, 0
	m, ok := s.underCursor()
	if !ok {
		return
	}
	w.Cursor = m.t
	if _, in := w.Column(m.t); !in && w.Now > m.t {
		w.Back = max(0, w.Now-m.t-float64(cells)*w.PerDot)
	}
}

// title is what one title row says.
type title struct {
	t     *trace
	v     reading
	aged  string // how old the values are, where nothing is heard any more
	focus bool
}

func (s *Scope) drawTitle(b Brush, r Rect, t title, lines bool) {
	if lines {
		s.window.Lines(b.Grid, r.X-1+chart.Margin, r.Y, b.Glyphs)
	}
	value, name := chart.Bold, chart.Bold
	if t.aged != "" {
		value = chart.Faint
	}
	if t.focus {
		name = chart.Reverse
	}
	b.blank(r.X, r.Y, titleUnit)
	b.Text(r.X, r.Y, r.W, t.t.name, name)
	b.Ending(r.X+titleNow, r.Y, t.t.scale.Number(t.v.now), value)
	unit := t.t.scale.UnitText()
	x := b.Text(r.X+titleUnit, r.Y, r.W-titleUnit, unit+" ", chart.Ink)
	if r.W >= wideTitle {
		source := s.sourceOf(t)
		b.blank(x, r.Y, r.X+titleSource+b.Width(source)+1-x)
		x = b.Text(r.X+titleSource, r.Y, r.W-titleSource, source, chart.Faint)
	}
	s.drawMedians(b, r, t, x)
}

func (s *Scope) sourceOf(t title) string {
	switch {
	case t.aged != "":
		return t.aged
	case t.t != &s.bandwidth:
		return t.t.source
	case s.shown.in == s.shown.in:
		return t.t.source + ", in " + t.t.scale.Number(s.shown.in)
	}
	return t.t.source
}

// drawMedians paints the right part of a title: what the time since the last mark was like. Widths shrink with the room;
// left is the first column that is free.
func (s *Scope) drawMedians(b Brush, r Rect, t title, left int) {
	right := r.Right()
	median, p99 := t.t.scale.Number(t.v.median), t.t.scale.Number(t.v.p99)
	switch {
	case r.W >= wideTitle:
		b.pair(right-13, r.Y, 13, "median", median)
		b.pair(right, r.Y, 10, "p99", p99)
		if since := s.sinceText(); t.t == &s.bandwidth && left < right-28-len(since) {
			b.blank(right-28-len(since), r.Y, len(since)+2)
			b.Ending(right-28, r.Y, since, chart.Faint)
		}
	case r.W >= 50:
		b.pair(right-11, r.Y, 12, "median", median)
		b.pair(right, r.Y, 9, "p99", p99)
	case r.W >= 36 && t.t == &s.bandwidth:
		b.pair(right, r.Y, 12, "median", median)
	case r.W >= 34:
		b.pair(right, r.Y, 9, "p99", p99)
	}
}

func (s *Scope) sinceText() string {
	if s.shown.since == 0 {
		return "since start"
	}
	return fmt.Sprintf("since %d", s.shown.since)
}

// pair paints a faint name and a number that ends in column right, in width cells together.
func (b Brush) pair(right, y, width int, name, number string) {
	b.blank(right-width, y, width+1)
	b.Text(right-width+1, y, width, name, chart.Faint)
	b.Ending(right, y, number, chart.Ink)
}

// blank clears n cells, so that a mark line does not run through a group of words.
func (b Brush) blank(x, y, n int) { b.Grid.Fill(x, y, n, ' ', chart.Ink) }

// Help is the line about the charts while no mark is under the cursor.
func (s *Scope) Help() []Span {
	span := float64(2*max(s.window.Cells, 1)) * s.window.PerDot
	return []Span{{"charts ", chart.Bold}, {fmt.Sprintf("the last %s; median and p99 cover the time since the last mark.", lasting(span)), 0}}
}

// lasting writes a stretch of seconds.
func lasting(s float64) string {
	if s < 300 {
		return fmt.Sprintf("%.0f s", s)
	}
	return fmt.Sprintf("%.0f min", s/60)
}

// OneLine is everything in one row, for a screen that has no room for charts: as many readings as fit, then the way out.
func (s *Scope) OneLine(b Brush, r Rect, knob string) {
	words := []string{}
	second, third := s.lower()
	for _, c := range []struct {
		t *trace
		v reading
	}{{&s.bandwidth, s.shown.bandwidth}, {second, s.shown.second}, {third, s.shown.third}} {
		c.t.scale.Fit(s.shown.at, c.v.now, c.v.now)
		words = append(words, c.t.scale.Number(c.v.now)+" "+c.t.scale.UnitText())
	}
	x := r.X
	for _, w := range append(words, knob) {
		if room := r.Right() - 2 - x; w == "" || b.Width(w) > room {
			break
		}
		x = b.Text(x, r.Y, r.W, w, chart.Ink) + 2
	}
	b.Text(min(x, r.Right()), r.Y, r.W, "q", chart.Bold)
}
