package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ethtune/ethtune/tune/knob"
)

// keepWithin is how long keeping may take: it is a few lines in a file.
const keepWithin = 5 * time.Second

// keptMsg is the answer to keeping settings.
type keptMsg struct {
	kept []knob.Result
	err  error
}

// quit ends the screen, after a question where something would outlive the run. Without an end to ask there is nothing to
// keep.
func (m *model) quit() tea.Cmd {
	sides := m.cfg.lasting()
	if m.cfg.Keep == nil || m.lost != nil || len(m.ledger.lasting(sides)) == 0 && !m.turns.lasting(sides) {
		return tea.Quit
	}
	m.page = pageMain
	m.ask.Ask()
	return nil
}

// leave carries out the answer.
func (m *model) leave(keep bool) tea.Cmd {
	if !keep {
		return tea.Quit
	}
	return m.turns.add(turn{keep: m.keep})
}

// keep is the command that keeps what outlives the run, as it is once every turn is answered.
func (m *model) keep() tea.Cmd {
	list := m.ledger.lasting(m.cfg.lasting())
	settings := make([]knob.Setting, len(list))
	for i, r := range list {
		settings[i] = r.Setting
	}
	ctx, keep := m.ctx, m.cfg.Keep
	return func() tea.Msg {
		ctx, stop := context.WithTimeout(ctx, keepWithin)
		defer stop()
		return keptMsg{list, keep(ctx, settings)}
	}
}

// kept ends the screen, or asks again where nothing could be kept.
func (m *model) kept(msg keptMsg) tea.Cmd {
	if msg.err != nil {
		m.ask.Failed(msg.err.Error())
		m.paint()
		return m.turns.done()
	}
	m.summary.Kept = msg.kept
	return tea.Quit
}
