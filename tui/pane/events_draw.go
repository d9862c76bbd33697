package pane

import (
	"fmt"
	"strconv"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/trial"
)

const (
	// HistoryWidth is from where on the list shows every metric and the time of day.
	HistoryWidth = 68
	// historyColumn is the width of one metric: the number, its lamp and the gap before.
	historyColumn = 17
	clockRoom     = 6
	// whatRoom is how far the first number may be from what was turned, so that the eye finds it.
	whatRoom = 36
)

// judged are the metrics with a column each, in its order.
var judged = []struct{ name, head string }{
	{trial.Bandwidth, "bandwidth"}, {trial.Jitter, "jitter"}, {trial.Loss, "loss"},
}

// frame is where the columns of the event list stand for one width.
type frame struct {
	what    int   // first column of what was turned
	edges   []int // last column of each metric's number; its lamp is two further
	word    int   // first column of the word, 0 = no word
	history bool
}

func (e *EventList) frame(r Rect) frame {
	digits := len(strconv.Itoa(e.newest))
	f := frame{what: r.X + digits + 1}
	if r.W >= HistoryWidth {
		f.history = true
		f.what += clockRoom
		first := min(r.Right()-2-(len(judged)-1)*historyColumn, f.what+whatRoom)
		for i := range judged {
			f.edges = append(f.edges, first+i*historyColumn)
		}
		return f
	}
	room := 6 // "better"
	if r.W >= KnobWidth {
		room = 9
	}
	f.word = r.X + r.W - room
	f.edges = []int{f.word - 4}
	return f
}

// eventLine is one line of the list.
type eventLine struct {
	at   int // the event, counted from the newest
	more string
}

func (e *EventList) lines() []eventLine {
	var out []eventLine
	for i := range e.events {
		out = append(out, eventLine{at: i})
		if t := e.events[len(e.events)-1-i].turn; t != nil {
			for _, text := range t.more() {
				out = append(out, eventLine{at: i, more: text})
			}
		}
	}
	return out
}

// Draw paints the list. focus says whether keys come here.
func (e *EventList) Draw(b Brush, r Rect, focus bool) {
	if r.Empty() {
		return
	}
	f := e.frame(r)
	title := "events"
	if f.history {
		title = "history"
	}
	b.Text(r.X, r.Y, r.W, title, chart.Bold)
	for i, x := range f.edges {
		b.Ending(x, r.Y, judged[i].head, chart.Faint)
	}
	lines := e.lines()
	body := Rect{r.X, r.Y + 1, r.W, r.H - 1}
	e.page = max(body.H, 1)
	at := -1
	for i, l := range lines {
		if l.at == e.chosen && l.more == "" {
			at = i
		}
	}
	e.top = scrolled(e.top, at, at, len(lines), body.H)
	for i := range min(body.H, len(lines)-e.top) {
		e.drawLine(b, body.Row(i), f, lines[e.top+i], focus)
	}
}

func (e *EventList) drawLine(b Brush, r Rect, f frame, l eventLine, focus bool) {
	ev := e.events[len(e.events)-1-l.at]
	switch {
	case l.more != "":
		b.Text(f.what, r.Y, r.Right()+1-f.what, l.more, chart.Faint)
		return
	case ev.turn == nil:
		b.Text(r.X, r.Y, 1, "·", chart.Faint)
		e.drawClock(b, r, f, clock(ev.note.Time))
		b.Text(f.what, r.Y, r.Right()+1-f.what, ev.note.Text, chart.Faint)
	default:
		e.drawTurn(b, r, f, ev.turn)
	}
	if focus && l.at == e.chosen {
		b.Grid.Restyle(r.X, r.Y, r.W, chart.Reverse)
	}
}

func (e *EventList) drawClock(b Brush, r Rect, f frame, text string) {
	if f.history {
		b.Text(f.what-clockRoom, r.Y, clockRoom-1, text, chart.Faint)
	}
}

func (e *EventList) drawTurn(b Brush, r Rect, f frame, t *turned) {
	m := &t.mark
	if m.Outcome == metric.Pending {
		b.Text(r.X, r.Y, 1, "·", chart.Faint)
	} else {
		b.Ending(f.what-2-boolInt(f.history)*clockRoom, r.Y, fmt.Sprint(m.N), chart.Bold)
	}
	e.drawClock(b, r, f, clock(m.Time))
	what := Setting(m.Side, m.Knob, shownValue(m))
	for i, edge := range f.edges {
		ef := t.effect(judged[i].name, e.now)
		if i > 0 {
			if t.verdicts[judged[i].name] == nil {
				break // one word for all is enough while there is no number
			}
			b.Ending(edge, r.Y, fits(b, ef.alone(), historyColumn-2), chart.Ink)
			b.Lamp(edge+2, r.Y, ef.lamp)
			continue
		}
		e.drawFirst(b, r, f, what, ef)
	}
}

// drawFirst paints what was turned and the effect beside it. The effect is never cut; one without a lamp or a word may
// stand in their columns.
func (e *EventList) drawFirst(b Brush, r Rect, f frame, what string, ef effect) {
	edge := f.edges[0]
	end := f.what + b.Width(what)
	forms := ef.forms
	if f.word == 0 {
		forms = ef.alone()
	}
	text := fits(b, forms, edge-end)
	if long := forms[0]; f.word > 0 && ef.lamp == Dark && ef.word == "" && text != long {
		if reach := end + b.Width(long); reach <= r.Right() {
			text, edge = long, max(edge, reach)
		}
	}
	left := b.Ending(edge, r.Y, text, chart.Ink)
	b.Text(f.what, r.Y, left-1-f.what, what, chart.Ink)
	if edge == f.edges[0] {
		b.Lamp(edge+2, r.Y, ef.lamp)
	}
	if f.word > 0 && ef.word != "" {
		b.Text(f.word, r.Y, r.Right()+1-f.word, ef.word, chart.Ink)
	}
}

// shownValue is what was asked while there is no answer, and where there was nothing else; otherwise what the kernel has.
func shownValue(m *metric.Mark) string {
	switch m.Outcome {
	case string(knob.Applied), string(knob.Unchanged):
		return m.Got
	}
	return m.Asked
}

// fits is the longest form that leaves a gap within room, else the shortest.
func fits(b Brush, forms []string, room int) string {
	for _, s := range forms {
		if b.Width(s) < room {
			return s
		}
	}
	return forms[len(forms)-1]
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
