package pane

import (
	"fmt"
	"slices"

	"github.com/ethtune/ethtune/tui/chart"
)

// HelpPage is the full help: the whole key map under its topics, and what the lamps mean.
type HelpPage struct {
	top, lines, page int
}

// topics are the headings in their order, and the column that each goes to where there are two.
var topics = []struct {
	name   string
	column int
}{{"Turn", 0}, {"Find", 0}, {"Clients", 0}, {"Look", 1}, {"Screen", 1}}

// Columns of the help, counted from the left edge of each of its two columns.
const (
	helpKeys   = 2
	helpText   = 14
	helpColumn = 39
)

// helpLine is one line of a column.
type helpLine struct{ head, keys, text string }

// helpColumns lists the keys of the screen that has the pane f.
func helpColumns(columns int, f Focus) [][]helpLine {
	screen := Anywhere
	if f == Guests {
		screen = Guests
	}
	out := make([][]helpLine, columns)
	for _, t := range topics {
		if !slices.ContainsFunc(Keys, func(k Key) bool { return k.Topic == t.name && k.Where&screen != 0 }) {
			continue
		}
		c := min(t.column, columns-1)
		if len(out[c]) > 0 {
			out[c] = append(out[c], helpLine{})
		}
		out[c] = append(out[c], helpLine{head: t.name})
		for _, k := range Keys {
			if k.Topic == t.name && k.Where&screen != 0 {
				text := k.Help + whereText(k.Where)
				out[c] = append(out[c], helpLine{keys: k.Shown, text: text})
			}
		}
	}
	return out
}

// whereText names the pane of keys that do something else elsewhere.
func whereText(f Focus) string {
	if f == Charts {
		return " (charts)"
	}
	return ""
}

// Do scrolls.
func (h *HelpPage) Do(a Action) {
	switch a {
	case RowUp:
		h.top--
	case RowDown:
		h.top++
	case PageUp:
		h.top -= h.page
	case PageDown:
		h.top += h.page
	case First:
		h.top = 0
	case Last:
		h.top = h.lines
	}
	h.clamp()
}

func (h *HelpPage) clamp() { h.top = max(0, min(h.top, h.lines-h.page)) }

// Draw paints the page. f is the pane that help was asked from.
func (h *HelpPage) Draw(b Brush, r Rect, f Focus) {
	columns := 1
	if r.W >= 2*helpColumn-2 {
		columns = 2
	}
	cols := helpColumns(columns, f)
	h.lines = 0
	for _, c := range cols {
		h.lines = max(h.lines, len(c))
	}
	h.page = max(1, r.H-5)
	h.clamp()
	b.Spans(r.X, r.Y, r.W, Span{"help", chart.Bold}, Span{"  " + f.String(), 0})
	if h.lines > h.page {
		b.Ending(r.Right(), r.Y, fmt.Sprintf("%d-%d of %d", h.top+1, min(h.top+h.page, h.lines), h.lines), chart.Faint)
	}
	for c, lines := range cols {
		x := r.X + c*helpColumn
		for i := range min(h.page, len(lines)-h.top) {
			l, y := lines[h.top+i], r.Y+2+i
			b.Text(x, y, helpColumn, l.head, chart.Bold)
			b.Text(x+helpKeys, y, helpText-helpKeys-1, l.keys, chart.Ink)
			b.Text(x+helpText, y, r.Right()+1-x-helpText, l.text, chart.Ink)
		}
	}
	if r.H >= 8 {
		drawLegend(b, r.Row(r.H-2), f)
	}
	hints := []hint{{"esc", "close", true}, {"q", "quit", true}}
	if h.lines > h.page {
		hints = append([]hint{{"up down", "more", false}}, hints...)
	}
	drawHints(b, r.Row(r.H-1), hints)
}

// drawLegend says what the lamps mean; on the screen of a server, which has but one, what its numbers are.
func drawLegend(b Brush, r Rect, f Focus) {
	if f == Guests {
		b.Line(r, Span{"Since", chart.Bold}, Span{" somebody came or went: median, p99.", chart.Faint},
			Span{"  Of the whole session: loss.", chart.Faint})
		return
	}
	x := b.Text(r.X, r.Y, r.W, "Lamps", chart.Bold)
	for _, l := range []struct {
		lamp Lamp
		word string
	}{{Better, "better"}, {Worse, "worse"}, {Pending, "pending"}, {Adjusted, "adjusted"}, {Failed, "refused"}} {
		sign, st := l.lamp.look()
		x = b.Spans(x+2, r.Y, r.Right()-x-1, Span{sign, st}, Span{" " + l.word, chart.Faint})
	}
}
