package tui

import (
	"cmp"
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tui/pane"
	"github.com/ethtune/ethtune/tune/knob"
)

// page is which screen is up.
type page uint8

const (
	pageMain page = iota
	pageHelp
)

// model is the root: it gives each message to whom it concerns and has the screen painted when something may have
// changed. It draws nothing and reckons nothing itself.
type model struct {
	cfg    Config
	ctx    context.Context
	reader *metric.Reader
	turns  turns
	ready  func() bool // whether the terminal can take a frame now

	status  pane.Status
	scope   *pane.Scope
	host    *pane.Host
	link    *pane.Link
	knobs   *pane.KnobList
	events  *pane.EventList
	help    pane.HelpPage
	ask     pane.Question
	ledger  ledger
	summary Summary

	page   page
	focus  pane.Focus
	glyphs chart.Glyphs
	say    *pane.Say // until the next key
	lost   error     // why nothing comes any more
	heard  time.Time // when the newest Frame came
	now    time.Time // of the newest message

	terminal   terminal
	cols, rows int
	grid       *chart.Grid
	content    string
}

func newModel(ctx context.Context, c Config) *model {
	host := pane.NewHost(c.Bench.Host != nil)
	m := &model{
		cfg: c, ctx: ctx, terminal: c.terminal(),
		reader:  c.Feed,
		turns:   turns{bench: c.Bench, ctx: ctx},
		ready:   func() bool { return true },
		status:  pane.Status{Title: c.Title, Spec: c.Spec, Granted: c.Bench.Granted()},
		scope:   pane.NewScope(c.Spec, host),
		host:    host,
		link:    pane.NewLink(),
		knobs:   pane.NewKnobList(),
		events:  pane.NewEventList(),
		summary: Summary{Title: c.Title},
		focus:   pane.Knobs,
		glyphs:  c.Caps.Glyphs,
		grid:    chart.NewGrid(0, 0),
	}
	if m.reader == nil {
		m.reader = c.Bench.Watch("screen")
	}
	m.cols, m.rows = m.terminal.size()
	m.paint()
	return m
}

// Init starts what runs by itself: the feed, the frame clock, the first reading of the knobs.
func (m *model) Init() tea.Cmd {
	return tea.Batch(pull(m.ctx, m.reader), watchEnds(m.ctx, m.cfg.Bench), tick(m.terminal.interval()), m.turns.read(), nextReread(), m.terminal.settle())
}

// View is the picture painted last.
func (m *model) View() tea.View {
	v := tea.NewView(m.content)
	v.AltScreen = true
	return v
}

// Update routes a message.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case recordsMsg:
		return m, m.records(msg)
	case tickMsg:
		m.tick(time.Time(msg))
		return m, tick(m.terminal.interval())
	case statesMsg:
		m.states(msg)
	case turnedMsg:
		return m, m.turned(msg)
	case dueMsg:
		return m, m.reread()
	case rereadMsg:
		return m, m.readAgain(msg)
	case keptMsg:
		return m, m.kept(msg)
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.KeyPressMsg:
		cmd := m.key(msg.String(), msg.Text)
		m.paint()
		return m, cmd
	case tea.PasteMsg:
		if m.knobs.Typing() {
			m.knobs.Type("", msg.Content)
			m.paint()
		}
	case lostMsg:
		m.lost = cmp.Or(m.lost, msg.err)
	case settledMsg, tea.ResumeMsg:
		return m, tea.ClearScreen
	}
	return m, nil
}

// records hands what came to the panes, and asks for more.
func (m *model) records(msg recordsMsg) tea.Cmd {
	m.now = msg.at
	for _, rec := range msg.recs {
		if _, ok := rec.(*metric.Frame); ok {
			m.heard = msg.at
		}
		m.status.Add(rec)
		m.host.Add(rec)
		m.link.Add(rec)
		m.scope.Add(rec, msg.at)
		m.knobs.Add(rec)
		m.events.Add(rec)
		m.summary.add(rec)
		if mark, ok := rec.(*metric.Mark); ok {
			m.ledger.take(mark)
		}
	}
	return pull(m.ctx, m.reader)
}

// tick paints a frame where the terminal keeps up.
func (m *model) tick(at time.Time) {
	m.now = at
	if m.ready() {
		m.scope.Tick(at)
		m.paint()
	}
}

// states takes a reading of the knobs made after these turns.
func (m *model) states(msg statesMsg, marks ...metric.Mark) {
	if msg.err != nil {
		m.say = &pane.Say{Text: msg.err.Error(), Bad: true}
	}
	if len(msg.states) == 0 {
		return
	}
	m.others(msg, marks)
	m.status.Granted = msg.granted
	m.status.Follow(func(name string) string {
		if s := m.knobs.State(knob.Near, name); s != nil {
			return s.Value
		}
		return ""
	})
	m.scope.Follow(m.status.Spec.Proto)
}

// turned takes the answer to a turn. What came of it is in the feed as well; only what is nowhere else is said here.
func (m *model) turned(msg turnedMsg) tea.Cmd {
	switch {
	case len(msg.marks) > 0:
	case msg.err != nil:
		m.say = &pane.Say{Text: msg.err.Error(), Bad: true}
	case msg.undo:
		m.say = &pane.Say{Text: "There is nothing to undo."}
	}
	for i := range msg.marks {
		m.ledger.take(&msg.marks[i])
	}
	m.states(msg.states, msg.marks...)
	m.paint()
	return m.turns.done()
}

// resize lays out anew. A terminal that does not know its size says 0x0.
func (m *model) resize(cols, rows int) {
	if cols < 1 || rows < 1 {
		cols, rows = m.terminal.size()
	}
	m.cols, m.rows = cols, rows
	if m.focus == pane.Events && m.layout().Events.Empty() {
		m.focus = pane.Knobs
	}
	m.paint()
}

// condition is how the run stands.
func (m *model) condition() pane.Condition {
	switch {
	case m.lost != nil, !m.heard.IsZero() && m.now.Sub(m.heard) > silence:
		return pane.Lost
	case m.scope.Frozen():
		return pane.Frozen
	case m.heard.IsZero():
		return pane.Starting
	}
	return pane.Running
}
