package tui

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/ethtune/ethtune/tui/pane"
)

// key carries out the key of that name.
func (m *serveModel) key(name string) tea.Cmd {
	m.say = nil
	a := pane.ActionOf(pane.Guests, name)
	switch {
	case a == pane.QuitNow:
		return tea.Quit
	case m.ask.Open():
		return m.intend(m.ask.Type(name))
	case a == pane.Quit:
		return m.quit()
	case a == pane.Redraw:
		return tea.Batch(tea.ClearScreen, tea.RequestWindowSize)
	case m.page == pageHelp:
		m.helpKey(a)
		return nil
	}
	switch a {
	case pane.ShowHelp:
		m.page = pageHelp
	case pane.Freeze:
		m.total.Freeze(!m.total.Frozen())
		m.total.Tick(m.now)
	case pane.NextGlyphs:
		m.glyphs = nextGlyphs(m.glyphs, m.cfg.Caps.Glyphs)
	default:
		return m.intend(m.guests.Do(a))
	}
	return nil
}

// helpKey scrolls the help or leaves it.
func (m *serveModel) helpKey(a pane.Action) {
	switch a {
	case pane.Back, pane.ShowHelp:
		m.page = pageMain
	default:
		m.help.Do(a)
	}
}

// intend carries out what a pane wants.
func (m *serveModel) intend(in pane.Intent) tea.Cmd {
	switch in := in.(type) {
	case pane.Say:
		m.say = &in
	case pane.Ask:
		m.ask.Ask(in)
	case pane.EndOf:
		return m.kick(in.ID)
	case pane.Leave:
		return tea.Quit
	}
	return nil
}

// quit ends the screen, and with it the server; after a question where that ends somebody's session.
func (m *serveModel) quit() tea.Cmd {
	n := m.guests.Len()
	if n == 0 || m.lost != nil {
		return tea.Quit
	}
	fact, text := "1 client is here", "Its session ends with the server."
	if n > 1 {
		fact, text = fmt.Sprintf("%d clients are here", n), "Their sessions end with the server."
	}
	m.page = pageMain
	m.ask.Ask(pane.Ask{Title: "Stop serving?", Fact: fact, Text: text, Yes: "stop", No: "serve on", Do: pane.Leave{}})
	return nil
}

// kick is the command that ends a session.
func (m *serveModel) kick(id int) tea.Cmd {
	m.ending(id, true)
	ctx, kick := m.ctx, m.cfg.Kick
	return func() tea.Msg {
		ctx, stop := context.WithTimeout(ctx, kickWithin)
		defer stop()
		return kickedMsg{id, kick(ctx, id)}
	}
}

// kicked takes the answer. One who has left meanwhile need not be ended.
func (m *serveModel) kicked(msg kickedMsg) {
	if msg.err != nil && m.guests.Here(msg.id) {
		m.ending(msg.id, false)
		m.say = &pane.Say{Text: "The session was not ended: " + msg.err.Error(), Bad: true}
	}
}

func (m *serveModel) ending(id int, asked bool) {
	m.guests.Ending(id, asked)
	m.visits.Ending(id, asked)
}
