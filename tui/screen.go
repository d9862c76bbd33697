package tui

import (
	"github.com/ethtune/ethtune/tui/pane"
)

func (m *model) layout() Layout { return LayoutOf(m.cols, m.rows, m.host.CPUs()) }

// paint lets every pane draw itself into its rectangle and keeps the result for View.
func (m *model) paint() {
	m.grid.Reset(m.cols, m.rows)
	b := pane.Brush{Grid: m.grid, Glyphs: m.glyphs}
	l := m.layout()
	switch {
	case !l.OneLine.Empty():
		if m.ask.Open() {
			m.paintQuestion(b, l.OneLine)
			break
		}
		m.scope.OneLine(b, l.OneLine, m.knobs.Brief())
	case m.page == pageHelp:
		m.help.Draw(b, l.Screen, m.focus)
	default:
		m.paintMain(b, l)
	}
	m.content = string(m.grid.Bytes(m.cfg.Caps.Colour))
}

func (m *model) paintMain(b pane.Brush, l Layout) {
	c := m.condition()
	m.status.Draw(b, l.Status, c)
	m.scope.Draw(b, l.Scope, l.Rows, m.focus == pane.Charts, c == pane.Lost, m.now)
	if m.ask.Open() && !l.Beside {
		m.paintQuestion(b, l.Dialog)
		return
	}
	if l.Brief {
		m.knobs.DrawBrief(b, l.Knobs)
	} else {
		m.knobs.Draw(b, l.Knobs, m.focus == pane.Knobs && !m.ask.Open(), l.Effects)
	}
	b.Rule(l.Rule)
	b.Rule(l.Divide)
	m.host.Draw(b, l.CPUs)
	out, in := m.scope.Goodput()
	m.link.Draw(b, l.Link, out, in)
	m.link.DrawTop(b, l.Top)
	if m.ask.Open() {
		m.paintQuestion(b, l.Dialog)
		return
	}
	m.events.Draw(b, l.Events, m.focus == pane.Events)
	switch {
	case !l.Help.Empty():
		b.Line(l.Help, m.helpLine()...)
		if m.knobs.Typing() {
			return // the line being typed has its keys, and those of the hints are text now
		}
	case m.say != nil, m.lost != nil, m.knobs.Typing(), m.focus == pane.Charts && m.scope.Marked() > 0:
		// Without a help line, what must be read takes the place of the hints.
		b.Line(l.Hints, m.helpLine()...)
		return
	}
	pane.Hints(b, l.Hints, m.focus)
}

// paintQuestion puts the question where the lists are: the charts are never covered.
func (m *model) paintQuestion(b pane.Brush, r pane.Rect) {
	m.ask.Draw(b, r, m.ledger.lasting(m.cfg.lasting()))
}

// helpLine is about whatever is selected, unless something must be said.
func (m *model) helpLine() []pane.Span {
	switch {
	case m.say != nil:
		return m.say.Spans()
	case m.lost != nil:
		return pane.Say{Text: m.lost.Error() + ". Nothing is measured any more; q quits.", Bad: true}.Spans()
	case m.knobs.Typing(), m.focus == pane.Knobs:
		return m.knobs.Help()
	case m.focus == pane.Events:
		return m.events.Help()
	}
	if n := m.scope.Marked(); n > 0 {
		return m.events.Reading(n)
	}
	return m.scope.Help()
}
