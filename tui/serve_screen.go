package tui

import (
	"fmt"

	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tui/pane"
)

// paint lets every pane draw itself into its rectangle and keeps the result for View.
func (m *serveModel) paint() {
	m.grid.Reset(m.cols, m.rows)
	b := pane.Brush{Grid: m.grid, Glyphs: m.glyphs}
	l := ServeLayoutOf(m.cols, m.rows, m.guests.Len())
	switch {
	case !l.OneLine.Empty():
		m.paintOneLine(b, l.OneLine)
	case m.page == pageHelp:
		m.help.Draw(b, l.Screen, pane.Guests)
	default:
		m.paintMain(b, l)
	}
	m.content = string(m.grid.Bytes(m.cfg.Caps.Colour))
}

func (m *serveModel) paintMain(b pane.Brush, l ServeLayout) {
	m.serving.DrawStatus(b, l.Status, m.condition(), m.guests.Len())
	m.total.Draw(b, l.Total)
	b.Rule(l.Rule)
	m.guests.Draw(b, l.Guests, !m.ask.Open(), l.Sum, m.now)
	m.visits.Draw(b, l.Visits)
	told := m.told()
	switch {
	case told == nil:
		m.serving.Draw(b, l.Serving)
	case l.Serving.Empty():
		// Without that line, what must be read takes the place of the hints.
		b.Line(l.Hints, told...)
		if !m.ask.Open() {
			return
		}
	default:
		b.Line(l.Serving, told...)
	}
	pane.Hints(b, l.Hints, pane.Guests)
	if m.ask.Open() {
		b.Clear(l.Dialog)
		m.ask.Draw(b, l.Dialog)
	}
}

// told is what must be said, nil for nothing.
func (m *serveModel) told() []pane.Span {
	switch {
	case m.say != nil:
		return m.say.Spans()
	case m.lost != nil:
		return pane.Say{Text: m.lost.Error() + ". Nobody is served any more; q quits.", Bad: true}.Spans()
	}
	return nil
}

// paintOneLine is for a screen that has no room for a chart: what is received, who is there, and the way out.
func (m *serveModel) paintOneLine(b pane.Brush, r pane.Rect) {
	if m.ask.Open() {
		m.ask.Draw(b, r)
		return
	}
	x := m.total.OneLine(b, r)
	words := fmt.Sprintf("  clients %d", m.guests.Len())
	if m.lost != nil {
		words = "  LOST"
	}
	if x+len(words) <= r.Right()-2 {
		x = b.Text(x, r.Y, r.W, words, chart.Ink)
	}
	b.Text(min(x+2, r.Right()), r.Y, r.W, "q", chart.Bold)
}
