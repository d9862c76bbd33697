package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tui/pane"
)

// panes in the order of tab.
var panes = []pane.Focus{pane.Charts, pane.Knobs, pane.Events}

// key carries out a key: name is what it is called, typed the text it stands for.
func (m *model) key(name, typed string) tea.Cmd {
	m.say = nil
	a := pane.ActionOf(m.focus, name)
	switch {
	case a == pane.QuitNow:
		return tea.Quit
	case m.ask.Open():
		return m.intend(m.ask.Type(name))
	case m.knobs.Typing():
		return m.intend(m.knobs.Type(name, typed))
	}
	if m.page == pageHelp {
		return m.helpKey(name, a)
	}
	switch a {
	case pane.Quit:
		return m.quit()
	case pane.Redraw:
		return tea.Batch(tea.ClearScreen, tea.RequestWindowSize)
	case pane.ShowHelp:
		m.page = pageHelp
	case pane.NextPane:
		m.turnFocus(+1)
	case pane.LastPane:
		m.turnFocus(-1)
	case pane.ToCharts:
		m.focus = pane.Charts
	case pane.ToKnobs:
		m.focus = pane.Knobs
	case pane.ToEvents:
		m.focusEvents()
	case pane.Freeze:
		m.scope.Freeze(!m.scope.Frozen())
		m.scope.Tick(m.now)
	case pane.NextGlyphs:
		m.glyphs = nextGlyphs(m.glyphs, m.cfg.Caps.Glyphs)
	case pane.UndoLast:
		return m.turns.add(turn{})
	default:
		return m.paneKey(a)
	}
	return nil
}

// paneKey gives an action to the pane that has the focus.
func (m *model) paneKey(a pane.Action) tea.Cmd {
	switch m.focus {
	case pane.Charts:
		return m.intend(m.scope.Do(a))
	case pane.Events:
		return m.intend(m.events.Do(a))
	}
	return m.intend(m.knobs.Do(a))
}

// intend carries out what a pane wants.
func (m *model) intend(in pane.Intent) tea.Cmd {
	switch in := in.(type) {
	case pane.Say:
		m.say = &in
	case pane.Turn:
		m.knobs.Asked(in.Plan)
		return m.turns.add(turn{plan: in.Plan})
	case pane.Leave:
		return m.leave(in.Keep)
	}
	return nil
}

// helpKey scrolls the help or leaves it. Its keys are those of a list, whatever pane has the focus.
func (m *model) helpKey(name string, a pane.Action) tea.Cmd {
	switch a {
	case pane.Quit:
		return m.quit()
	case pane.Redraw:
		return tea.ClearScreen
	case pane.Back, pane.ShowHelp:
		m.page = pageMain
	default:
		m.help.Do(pane.ActionOf(pane.Events, name))
	}
	return nil
}

func (m *model) turnFocus(by int) {
	at := 0
	for i, p := range panes {
		if p == m.focus {
			at = i
		}
	}
	m.focus = panes[(at+by+len(panes))%len(panes)]
	if m.focus == pane.Events && m.layout().Events.Empty() {
		m.turnFocus(by)
	}
}

// focusEvents does nothing where the events are not on the screen.
func (m *model) focusEvents() {
	if !m.layout().Events.Empty() {
		m.focus = pane.Events
	}
}

// nextGlyphs is the next coarser level, and the finest that the terminal has after the coarsest.
func nextGlyphs(now, finest chart.Glyphs) chart.Glyphs {
	switch now {
	case chart.Braille:
		return chart.Block
	case chart.Block, chart.BlockLinux:
		return chart.ASCII
	}
	if finest == chart.BlockLinux {
		return finest
	}
	return chart.Braille
}
