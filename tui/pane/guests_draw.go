package pane

import (
	"fmt"
	"slices"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
)

// guestColumn is one column of the list. Numbers end at its right edge, words begin at its left.
type guestColumn struct {
	head  string
	width int // with the gap to its neighbour
	words bool
	rank  int // the highest is dropped first where there is no room; 0 = never
	text  func(g *guest, at time.Time) string
}

// colName is the place of the names, which are always there.
const colName = 0

// guestColumns are the columns from left to right, as narrow as they may be.
func guestColumns() []guestColumn {
	return []guestColumn{
		{"clients", 17, true, 0, nil},
		{"dialect", 9, true, 5, func(g *guest, _ time.Time) string { return g.Dialect }},
		{"load", 11, true, 0, func(g *guest, _ time.Time) string { return g.load() }},
		{"received", 11, false, 7, func(g *guest, _ time.Time) string { return bytesText(g.RxBytes) }},
		{"sent", 11, false, 6, func(g *guest, _ time.Time) string { return bytesText(g.TxBytes) }},
		{"Mbit/s", 9, false, 0, func(g *guest, at time.Time) string { return mbits(g.bps(at)) }},
		{"jitter µs", 10, false, 2, func(g *guest, _ time.Time) string { return micros(g.JitterMs) }},
		{"loss %", 9, false, 3, func(g *guest, _ time.Time) string { return chart.NumberLoss(g.lossPct().Float()) }},
		{"since", 9, false, 4, func(g *guest, _ time.Time) string { return g.stay() }},
	}
}

// mbits writes bit/s in Mbit/s, micros milliseconds in µs. Both have more than five cells where that is needed.
func mbits(bps metric.Num) string { return long(bps.Float() / 1e6) }
func micros(ms metric.Num) string { return long(ms.Float() * 1e3) }

func long(v float64) string {
	if v >= 99999.5 && v < 1e9 {
		return fmt.Sprintf("%.0f", v)
	}
	return chart.Number(v)
}

// bytesText is a number of bytes in units of a thousand.
func bytesText(n uint64) string {
	v, unit := float64(n), "B"
	for _, u := range []string{"kB", "MB", "GB", "TB", "PB"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, u
	}
	if unit == "B" {
		return fmt.Sprintf("%d B", n)
	}
	return chart.Number(v) + " " + unit
}

// fitColumns drops what there is no room for in width cells, and gives what is over to the names and the loads.
func fitColumns(width int) []guestColumn {
	cols := guestColumns()
	used := func() int {
		n := 0
		for _, c := range cols {
			n += c.width
		}
		return n
	}
	for used() > width {
		worst := slices.IndexFunc(cols, func(c guestColumn) bool {
			return c.rank > 0 && !slices.ContainsFunc(cols, func(o guestColumn) bool { return o.rank > c.rank })
		})
		if worst < 0 {
			return cols
		}
		cols = slices.Delete(cols, worst, worst+1)
	}
	load := slices.IndexFunc(cols, func(c guestColumn) bool { return c.head == "load" })
	for _, grow := range []struct{ col, to int }{{colName, 19}, {load, 13}, {colName, 42}, {load, width}} {
		c := &cols[grow.col]
		c.width += max(0, min(width-used(), grow.to-c.width))
	}
	return cols
}

// Draw paints a head, the guests and, with total, what they come to; the row under the cursor is reversed with focus.
func (l *GuestList) Draw(b Brush, r Rect, focus, total bool, at time.Time) {
	if r.Empty() {
		return
	}
	cols := fitColumns(r.W)
	rows := r.H - 1
	if total {
		rows--
	}
	l.page = max(rows, 1)
	l.top = max(min(l.top, l.at, len(l.all)-l.page), 0)
	l.top = max(l.top, l.at-l.page+1)
	l.drawHead(b, r.Row(0), cols)
	if len(l.all) == 0 {
		b.Line(Rect{r.X + 2, r.Y + 1, r.W - 2, 1}, Span{"Nobody is here.", chart.Ink}, Span{"  On another host: ", chart.Faint},
			Span{l.Invite, chart.Ink})
		return
	}
	shown := min(l.page, len(l.all)-l.top)
	for i := range shown {
		row := r.Row(1 + i)
		l.drawGuest(b, row, cols, l.all[l.top+i], at)
		if l.top+i == l.at {
			b.Text(row.X, row.Y, 1, "▸", chart.Ink)
			if focus {
				b.Grid.Restyle(row.X, row.Y, row.W, chart.Reverse)
			}
		}
	}
	if total {
		l.drawTotal(b, r.Row(1+shown), cols, at)
	}
}

func (l *GuestList) drawHead(b Brush, r Rect, cols []guestColumn) {
	x := r.X
	for i, c := range cols {
		switch {
		case i == colName:
			end := b.Text(x, r.Y, c.width, c.head, chart.Bold)
			if len(l.all) > l.page {
				b.Text(end+1, r.Y, x+c.width-end-2, fmt.Sprintf("%d-%d/%d", l.top+1, min(l.top+l.page, len(l.all)), len(l.all)), chart.Faint)
			}
		case c.words:
			b.Text(x, r.Y, c.width, c.head, chart.Faint)
		default:
			b.Ending(x+c.width-1, r.Y, c.head, chart.Faint)
		}
		x += c.width
	}
}

func (l *GuestList) drawGuest(b Brush, r Rect, cols []guestColumn, g *guest, at time.Time) {
	x := r.X
	for i, c := range cols {
		switch {
		case i == colName:
			b.Text(x+2, r.Y, c.width-3, b.brief(l.name(g, c.width-3), c.width-3), chart.Ink)
		case c.head == "load" && g.ending:
			b.Lamp(x, r.Y, Pending)
			b.Text(x+2, r.Y, c.width-3, "ending", chart.Ink)
		case c.words:
			b.Text(x, r.Y, c.width-1, orNone(c.text(g, at)), chart.Ink)
		default:
			b.Ending(x+c.width-1, r.Y, c.text(g, at), chart.Ink)
		}
		x += c.width
	}
}

// name is the guest's address; with its port where there is room and another has the same address.
func (l *GuestList) name(g *guest, room int) string {
	same := 0
	for _, o := range l.all {
		if o.host == g.host {
			same++
		}
	}
	if same > 1 && chart.Width(g.Peer) <= room {
		return g.Peer
	}
	return g.host
}

// drawTotal adds up what is known of all.
func (l *GuestList) drawTotal(b Brush, r Rect, cols []guestColumn, at time.Time) {
	var in, out metric.Num
	for _, g := range l.all {
		if g.speed.known(at) {
			in, out = in.Add(metric.N(g.speed.in)), out.Add(metric.N(g.speed.out))
		}
	}
	edge := r.X - 1
	for _, c := range cols {
		edge += c.width
		if c.head == "Mbit/s" {
			break
		}
	}
	text := mbits(out)
	b.Text(r.X+2, r.Y, r.W-2, "total in", chart.Faint)
	if len("  out ")+max(chart.Width(text), 6) > r.Right()-edge {
		x := b.Text(r.X+11, r.Y, r.W-11, mbits(in), chart.Ink)
		b.Spans(x, r.Y, r.Right()+1-x, Span{"  out ", chart.Faint}, Span{text, chart.Ink})
		return
	}
	b.Ending(edge, r.Y, mbits(in), chart.Ink)
	b.Text(edge+3, r.Y, 3, "out", chart.Faint)
	b.Ending(edge+12, r.Y, text, chart.Ink)
}

func orNone(s string) string {
	if s == "" {
		return none
	}
	return s
}

// brief is s in at most room cells; what is cut off is shown to be.
func (b Brush) brief(s string, room int) string {
	if s = b.Glyphs.Text(s); chart.Width(s) <= room {
		return s
	}
	return cut(s, room-1) + "…"
}
