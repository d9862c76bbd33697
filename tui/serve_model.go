package tui

import (
	"cmp"
	"context"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tui/pane"
	"github.com/ethtune/ethtune/tune/rig"
)

// kickWithin is how long the server may take to say that it ends a session.
const kickWithin = 5 * time.Second

// kickedMsg is the answer to ending a session.
type kickedMsg struct {
	id  int
	err error
}

// serveModel is the root of a server's screen. As [model] it only routes.
type serveModel struct {
	cfg   ServeConfig
	ctx   context.Context
	ready func() bool // whether the terminal can take a frame now

	serving pane.Serving
	total   *pane.Total
	guests  pane.GuestList
	visits  pane.Visits
	help    pane.HelpPage
	ask     pane.Confirm

	page   page
	glyphs chart.Glyphs
	say    *pane.Say // until the next key
	lost   error     // why nothing comes any more
	now    time.Time // of the newest message
	began  time.Time

	terminal   terminal
	cols, rows int
	grid       *chart.Grid
	content    string
}

func newServeModel(ctx context.Context, c ServeConfig) *serveModel {
	m := &serveModel{
		cfg: c, ctx: ctx, terminal: c.terminal(),
		ready:   func() bool { return true },
		serving: pane.Serving{Host: c.Host, Most: c.Most, All: c.Serving},
		glyphs:  c.Caps.Glyphs,
		began:   time.Now(),
		grid:    chart.NewGrid(0, 0),
	}
	m.now = m.began
	m.total = pane.NewTotal(m.began)
	m.guests.Invite = m.serving.Invite()
	m.cols, m.rows = m.terminal.size()
	m.paint()
	return m
}

// Init starts what runs by itself: the feed and the frame clock.
func (m *serveModel) Init() tea.Cmd {
	return tea.Batch(pull(m.ctx, m.cfg.Feed), tick(m.terminal.interval()), m.terminal.settle())
}

// View is the picture painted last.
func (m *serveModel) View() tea.View {
	v := tea.NewView(m.content)
	v.AltScreen = true
	return v
}

// Update routes a message.
func (m *serveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case recordsMsg:
		return m, m.records(msg)
	case tickMsg:
		m.tick(time.Time(msg))
		return m, tick(m.terminal.interval())
	case kickedMsg:
		m.kicked(msg)
		m.paint()
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.KeyPressMsg:
		cmd := m.key(msg.String())
		m.paint()
		return m, cmd
	case lostMsg:
		m.lose(msg.err)
	case settledMsg, tea.ResumeMsg:
		return m, tea.ClearScreen
	}
	return m, nil
}

// records hands what came to the panes, and asks for more.
func (m *serveModel) records(msg recordsMsg) tea.Cmd {
	m.now = msg.at
	left := false
	for _, rec := range msg.recs {
		g, ok := rec.(*metric.Guest)
		if !ok {
			continue
		}
		m.total.Add(g, msg.at)
		m.visits.Add(g)
		m.guests.Add(g, msg.at)
		left = left || g.Event == "out"
	}
	if left && m.cfg.Once {
		return tea.Quit
	}
	if id := m.ask.About(); id != 0 && !m.guests.Here(id) {
		m.ask.Close()
		m.say = &pane.Say{Text: "The client has left by itself."}
	}
	return pull(m.ctx, m.cfg.Feed)
}

// tick takes what a second came to, and paints a frame where the terminal keeps up.
func (m *serveModel) tick(at time.Time) {
	m.now = at
	m.total.Tick(at)
	if m.ready() {
		m.paint()
	}
}

// lose says that the server is gone.
func (m *serveModel) lose(err error) {
	if m.ctx.Err() == nil {
		m.lost = cmp.Or(m.lost, fmt.Errorf("%w: the server: %w", rig.ErrLost, err))
		m.total.Lose()
	}
}

// resize lays out anew. A terminal that does not know its size says 0x0.
func (m *serveModel) resize(cols, rows int) {
	if cols < 1 || rows < 1 {
		cols, rows = m.terminal.size()
	}
	m.cols, m.rows = cols, rows
	m.paint()
}

// condition is how the server stands.
func (m *serveModel) condition() pane.Condition {
	switch {
	case m.lost != nil:
		return pane.Lost
	case m.total.Frozen():
		return pane.Frozen
	}
	return pane.Running
}
