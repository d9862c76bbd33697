package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/pane"
)

// rereadEvery is how often the knobs are read though nothing was turned, to see what others do to them.
const rereadEvery = 5 * time.Second

// dueMsg says that the knobs are to be read again.
type dueMsg struct{}

// rereadMsg is a reading that no turn asked for.
type rereadMsg struct {
	statesMsg
	sent int // turns that had left before it
}

func nextReread() tea.Cmd {
	return tea.Tick(rereadEvery, func(time.Time) tea.Msg { return dueMsg{} })
}

// reread reads the knobs again, except under a turn, whose answer brings a reading of its own.
func (m *model) reread() tea.Cmd {
	if m.turns.busy || m.lost != nil {
		return nextReread()
	}
	read, sent := m.turns.read(), m.turns.sent
	return func() tea.Msg { return rereadMsg{read().(statesMsg), sent} }
}

// readAgain takes the reading, unless a turn has left since: nobody could say on which side of it a value was read.
func (m *model) readAgain(msg rereadMsg) tea.Cmd {
	if msg.sent == m.turns.sent {
		m.states(msg.statesMsg)
	}
	return nextReread()
}

// others tells what somebody else has moved.
func (m *model) others(states statesMsg, marks []metric.Mark) {
	for _, s := range m.knobs.Reread(states.states, marks) {
		m.ledger.forget(s)
		m.events.Add(&metric.Note{Time: m.now, Text: "another set " + pane.Setting(string(s.Side), s.Knob, s.Value)})
	}
}
