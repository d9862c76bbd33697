package tui

import "github.com/ethtune/ethtune/tui/pane"

// Sizes from which a screen has more to show.
const (
	fullRows  = 24 // the design size
	eventCols = 80 // events beside the knobs
	wideCols  = 120
	wideRows  = 30
	roomyCols = 140 // the names of the knobs whole
	broadCols = 180 // the host's tables beside the knobs
	sideCols  = 40  // of them
	slimRows  = 16  // the smallest with a list of knobs
	leastRows = 10  // the smallest with a chart
	leastCols = 40
	// listCols is where the rule between knobs and events stands at the design size.
	listCols = 47
)

// Layout is where everything on the screen is. An empty rectangle is not drawn.
type Layout struct {
	Screen  pane.Rect // all but the first and the last column, which stay empty
	Status  pane.Rect
	Scope   pane.Rect
	Rows    pane.ScopeRows
	Knobs   pane.Rect
	Rule    pane.Rect
	Events  pane.Rect
	Help    pane.Rect
	Hints   pane.Rect
	CPUs    pane.Rect // the host's processors
	Divide  pane.Rect // the rule left of the third column
	Link    pane.Rect // the interface, and where packets are dropped
	Top     pane.Rect // the host's processes
	OneLine pane.Rect // everything, where there is no room for anything
	Dialog  pane.Rect // a question, over all below the charts
	Beside  bool      // the knobs stand beside the charts, and stay in view under a question
	Brief   bool      // one knob and no list
	Effects bool      // no events beside the knobs: the knobs show what turning them did
}

// LayoutOf divides a terminal of cols and rows for a host of that many processors, 0 while that is not known. From 80x24
// on:
//
//	ethtune  lab  native  tcp ×4 → far          cpu 61 %   ● live     Status
//	bandwidth  30.6 Gbit/s                  median ..   p99 ..        Scope: three titles and plots, one axis
//	  40 ┤
//	     └──── -120 s ──── -100 ───1──── now
//	knobs       near     far   state       │ events   bandwidth       Knobs, Rule, Events
//	▸ tso         on      on   turned at 2 │ 2 tso on  +305 % ±9
//	tso the card, not the CPU, cuts big TCP sends into frames.        Help
//	space turn  enter edit  u undo  tab pane  ? help  q quit          Hints
//
// From 120x30 on the knobs stand right of the charts, which get rows for the processors, with the history under them. From
// 180 columns on there is a third column:
//
//	Status                                               Status
//	Scope                        │ Knobs                 Scope                   │ Knobs      │ Link
//	                             │                                               │            │ CPUs
//	Events                       │ CPUs                  Events                  │            │ Top
//	Help                                                 Help
//	Hints                                                Hints
//
// It shrinks in this order: the events go, the help line goes, jitter and loss become strips of one row (60x16), then
// numbers, with one knob (40x10); below that one line is left. Layouts of any size are valid, also of none.
func LayoutOf(cols, rows, cpus int) Layout {
	l := Layout{Screen: pane.Rect{X: 1, W: cols - 2, H: rows}}
	switch {
	case cols < leastCols || rows < leastRows:
		l.OneLine = pane.Rect{X: 1, W: cols - 2, H: min(rows, 1)}
		if cols < 3 {
			l.OneLine.X, l.OneLine.W = 0, cols
		}
		return l
	case rows < slimRows:
		l.brief(rows)
	case rows < fullRows:
		l.slim(rows)
	case cols >= wideCols && rows >= wideRows:
		l.wide(cols, rows, cpus)
	default:
		l.full(rows)
	}
	l.Status = l.Screen.Row(0)
	l.Hints = l.Screen.Row(rows - 1)
	return l
}

// brief is one chart and one knob.
func (l *Layout) brief(rows int) {
	l.Brief = true
	l.Rows = pane.ScopeRows{Bandwidth: rows - 7}
	l.charts(l.Screen.W)
	l.Knobs = l.Screen.Row(rows - 2)
	l.Dialog = pane.Rect{X: 1, Y: rows - 2, W: l.Screen.W, H: 2}
}

// slim is for terminals that are not as high as the design.
func (l *Layout) slim(rows int) {
	l.Rows = pane.ScopeRows{Bandwidth: 4, Jitter: 1, Loss: 1}
	list, spare := 4, rows-slimRows
	give := func(to *int, most int) {
		n := min(most, spare)
		*to += n
		spare -= n
	}
	help := 0
	if spare >= 2 {
		give(&help, 1)
	}
	give(&list, 3)
	give(&l.Rows.Bandwidth, 1)
	give(&l.Rows.Loss, 1)
	give(&l.Rows.Jitter, 2)
	l.charts(l.Screen.W)
	l.lists(list)
	if help > 0 {
		l.Help = l.Screen.Row(rows - 2)
	}
}

// full is the design size and everything higher or wider that is not both.
func (l *Layout) full(rows int) {
	spare := rows - fullRows
	l.Rows = grown(spare / 2)
	l.charts(l.Screen.W)
	l.lists(rows - 3 - l.Rows.Height())
	l.Help = l.Screen.Row(rows - 2)
}

// wide has the knobs at the right from top to bottom, or down to the table of processors.
func (l *Layout) wide(cols, rows, cpus int) {
	body, knobs := rows-3, pane.KnobWidth
	if cols >= roomyCols {
		knobs = pane.KnobWideWidth
	}
	if cols >= broadCols {
		cols -= sideCols + 3
		l.Divide = pane.Rect{X: cols, Y: 1, W: 1, H: body}
		l.side(pane.Rect{X: cols + 2, Y: 1, W: sideCols, H: body}, cpus)
	}
	left := cols - knobs - 4
	least := grown(0)
	least.Host = min(cpus, rows/5-4)
	l.Rows = grown(body - 1 - max(9, body/5) - least.Height())
	l.Rows.Host = least.Host
	l.charts(left - 1)
	l.Rule = pane.Rect{X: left + 1, Y: 1, W: 1, H: body}
	l.Knobs = pane.Rect{X: left + 3, Y: 1, W: knobs, H: body}
	if l.Link.Empty() && cpus > 0 {
		table := 1 + min(cpus, body/4)
		l.Knobs.H -= table + 1
		l.CPUs = pane.Rect{X: l.Knobs.X, Y: 1 + body - table, W: knobs, H: table}
	}
	y := 1 + l.Rows.Height() + 1
	l.Events = pane.Rect{X: 1, Y: y, W: left - 1, H: rows - 2 - y}
	l.Dialog, l.Beside = l.Events, true
	l.Help = l.Screen.Row(rows - 2)
}

// side is the column of the host's tables with a blank row between them.
func (l *Layout) side(r pane.Rect, cpus int) {
	l.Link = pane.Rect{X: r.X, Y: r.Y, W: r.W, H: pane.LinkRows}
	y, room := r.Y+pane.LinkRows+1, r.H-pane.LinkRows-1
	if cpus > 0 {
		table := 1 + min(cpus, room-pane.TopRows-2)
		l.CPUs = pane.Rect{X: r.X, Y: y, W: r.W, H: table}
		y, room = y+table+1, room-table-1
	}
	l.Top = pane.Rect{X: r.X, Y: y, W: r.W, H: min(room, pane.TopRows)}
}

// grown is the plots of the design size with spare rows more, given out 4:3:1. Heights are odd where a label stands in the
// middle, so that this is the middle of a row, and fit quarters where the plot is high enough for labels there; what that
// leaves over belongs to the lists.
func grown(spare int) pane.ScopeRows {
	spare = max(spare, 0)
	bandwidth, jitter := 5+spare*4/8, 3+spare*3/8
	if bandwidth >= 9 {
		bandwidth -= (bandwidth - 1) % 4
	}
	return pane.ScopeRows{Bandwidth: bandwidth - (bandwidth+1)%2, Jitter: jitter - (jitter+1)%2, Loss: 2 + spare/8}
}

func (l *Layout) charts(width int) {
	l.Scope = pane.Rect{X: 1, Y: 1, W: width, H: l.Rows.Height()}
}

// lists puts the knobs, and where there is room the events beside them, below the charts.
func (l *Layout) lists(rows int) {
	y := 1 + l.Rows.Height()
	l.Dialog = pane.Rect{X: 1, Y: y, W: l.Screen.W, H: l.Screen.H - y}
	l.Knobs = pane.Rect{X: 1, Y: y, W: l.Screen.W, H: rows}
	if l.Screen.W < eventCols-2 {
		l.Effects = true
		return
	}
	l.Knobs.W = pane.KnobWidth
	l.Rule = pane.Rect{X: listCols, Y: y, W: 1, H: rows}
	l.Events = pane.Rect{X: listCols + 2, Y: y, W: l.Screen.W - listCols - 1, H: rows}
}
