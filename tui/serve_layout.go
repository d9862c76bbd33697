package tui

import "github.com/ethtune/ethtune/tui/pane"

// Parts of a server's screen.
const (
	serveCols  = 160 // from here on the log stands beside the rest
	visitCols  = 74  // of a log that stands there
	leastPlot  = 3   // rows
	airRows    = 20  // from here on there is a blank row between the parts
	dialogRows = 6   // a question in its box, with air
)

// ServeLayout is where everything on a server's screen is. An empty rectangle is not drawn.
type ServeLayout struct {
	Screen  pane.Rect // all but the first and the last column, which stay empty
	Status  pane.Rect
	Total   pane.Rect // the chart with its title and its axis
	Guests  pane.Rect
	Sum     bool // the list ends with a row of totals
	Rule    pane.Rect
	Visits  pane.Rect
	Serving pane.Rect
	Hints   pane.Rect
	OneLine pane.Rect // everything, where there is no room for anything
	Dialog  pane.Rect // a question; it leaves the chart and the guest it is about in view
}

// ServeLayoutOf divides a terminal of cols and rows for a server with that many guests:
//
//	ethtune  serve  bench-2  3 clients of 8 at most      ● live     Status
//	received   1351 Mbit/s all clients   median ..   p99 ..         Total
//	3000 ┤
//	     └──── -120 s ──── -100 ──── now
//	clients       dialect  load       Mbit/s jitter µs  loss %      Guests: as many rows as there are, the totals below
//	▸ 10.0.3.9    iperf2   udp in      415.2        64    0.03
//	log                                                             Visits: the rest
//	  14:03:58  apalis-7   native opened, tcp ×4, we send
//	native 5202  iperf3 5201, on all addresses                      Serving
//	up down choose  k end session  ? help  q quit                   Hints
//
// From 160 columns on the log stands at the right. Below 16 rows there is no log and no totals, below 40x10 one line.
// Layouts of any size are valid, also of none.
func ServeLayoutOf(cols, rows, guests int) ServeLayout {
	l := ServeLayout{Screen: pane.Rect{X: 1, W: cols - 2, H: rows}}
	if cols < leastCols || rows < leastRows {
		l.OneLine = pane.Rect{X: 1, W: cols - 2, H: min(rows, 1)}
		if cols < 3 {
			l.OneLine.X, l.OneLine.W = 0, cols
		}
		return l
	}
	l.Status, l.Hints = l.Screen.Row(0), l.Screen.Row(rows-1)
	if rows < slimRows {
		l.Total = pane.Rect{X: 1, Y: 1, W: cols - 2, H: leastPlot + 2}
		l.Guests = pane.Rect{X: 1, Y: 6, W: cols - 2, H: rows - 7}
		l.Dialog = pane.Rect{X: 1, Y: rows - 2, W: cols - 2, H: 2}
		return l
	}
	l.Serving, l.Sum = l.Screen.Row(rows-2), true
	width := cols - 2
	if cols >= serveCols {
		width -= visitCols + 3
		l.Rule = pane.Rect{X: width + 2, Y: 1, W: 1, H: rows - 3}
		l.Visits = pane.Rect{X: width + 4, Y: 1, W: visitCols - 1, H: rows - 3}
	}
	air := 0
	if rows >= airRows {
		air = 1
	}
	l.Total = pane.Rect{X: 1, Y: 1, W: width, H: servePlot(rows, !l.Visits.Empty()) + 2}
	y := l.Total.Y + l.Total.H + air
	room := rows - 2 - y
	if !l.Visits.Empty() {
		l.Guests = pane.Rect{X: 1, Y: y, W: width, H: room}
		l.Dialog = pane.Rect{X: l.Visits.X, Y: rows - 2 - dialogRows, W: l.Visits.W, H: dialogRows}
		return l
	}
	log := 2 + 2*air // rows that are never the list's
	l.Guests = pane.Rect{X: 1, Y: y, W: width, H: min(max(guests, 1)+2, room-log)}
	y += l.Guests.H + air
	l.Visits = pane.Rect{X: 1, Y: y, W: width, H: rows - 2 - y}
	l.Dialog = pane.Rect{X: 1, Y: rows - min(dialogRows, l.Visits.H+2), W: width, H: min(dialogRows, l.Visits.H+2)}
	return l
}

// servePlot is the height of the plot: odd, so that the label in the middle stands in the middle of a row, and fit for
// quarters where it is high enough for labels there. With the log beside it, what is below is the list's alone.
func servePlot(rows int, beside bool) int {
	switch {
	case rows < airRows:
		return leastPlot + (rows-slimRows)/3
	case rows < fullRows:
		return 5
	}
	n := 7 + (rows-fullRows)/2
	if beside {
		n = rows - fullRows + 7 - max(0, rows/4-10)
	}
	if n >= 9 {
		n -= (n - 1) % 4
	}
	return n - (n+1)%2
}
