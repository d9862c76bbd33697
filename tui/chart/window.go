package chart

import "math"

// Mark is a point in time where something was turned. It is drawn as a line through the plots, with its label on the axis.
type Mark struct {
	T     float64 // s, on the clock of the series
	Label string  // its number, bold on the axis; empty for a line alone
}

// Window is the stretch of time that stacked plots and their axis share. Columns are anchored to multiples of the time a
// cell takes, not to Now: the newest cell fills up, and when it is full the whole picture steps one cell to the left.
type Window struct {
	Now    float64 // s: the newest moment, on the clock of the series
	Back   float64 // s: how far the right edge is scrolled back from Now; 0 is live
	PerDot float64 // s a dot column, two to a cell, 0.01 to 3600; 1 unless positive
	Cells  int     // width of the plots without their margin
	Marks  []Mark  // oldest first
	Cursor float64 // s: time of the cursor line; none unless positive
}

// maxCells bounds the width of a plot: no terminal is wider, and buffers are made for it.
const maxCells = 4096

// zooms are the steps of [ZoomIn] and [ZoomOut] in seconds a dot.
var zooms = [...]float64{0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600}

// ZoomIn returns the next finer number of seconds a dot.
func ZoomIn(perDot float64) float64 {
	for i := len(zooms) - 1; i >= 0; i-- {
		if zooms[i] < perDot {
			return zooms[i]
		}
	}
	return zooms[0]
}

// ZoomOut returns the next coarser number of seconds a dot.
func ZoomOut(perDot float64) float64 {
	for _, z := range zooms {
		if z > perDot {
			return z
		}
	}
	return zooms[len(zooms)-1]
}

// cells is the width made safe.
func (w *Window) cells() int { return min(max(w.Cells, 0), maxCells) }

// minPerDot and maxPerDot bound the zoom in seconds: finer than any sampling, and a screen of half a month.
const (
	minPerDot = 0.01
	maxPerDot = 3600
)

// perDot is the time of a dot made safe.
func (w *Window) perDot() float64 {
	if w.PerDot > 0 {
		return min(max(w.PerDot, minPerDot), maxPerDot)
	}
	return 1
}

// lastCell is the absolute index of the cell at the right edge.
func (w *Window) lastCell() int64 {
	return index(w.Now-max(w.Back, 0), 2*w.perDot())
}

// backCells is how many cells the right edge is scrolled back.
func (w *Window) backCells() int64 {
	return index(w.Now, 2*w.perDot()) - w.lastCell()
}

// index is the absolute number of the bin of the given width that holds t. Times are sums of tenths, so one that is
// short of an edge by rounding alone counts as on it.
func index(t, width float64) int64 {
	f := math.Floor(t/width + 1e-6)
	switch {
	case f != f:
		return 0
	case f > 1<<52:
		return 1 << 52
	case f < -1<<52:
		return -1 << 52
	}
	return int64(f)
}

// Span returns the time in seconds at the left edge and at the right edge, which is up to one cell later than Now.
func (w *Window) Span() (from, to float64) {
	last, cell := w.lastCell(), 2*w.perDot()
	return float64(last+1-int64(w.cells())) * cell, float64(last+1) * cell
}

// Column returns the cell that shows t, counted from the left edge of the plot, and whether it is in view.
func (w *Window) Column(t float64) (int, bool) {
	n := int64(w.cells())
	c := index(t, 2*w.perDot()) - (w.lastCell() + 1 - n)
	if t != t || c < 0 || c >= n {
		return 0, false
	}
	return int(c), true
}

// At returns the stretch of time in seconds, [from, to), that the cell shows.
func (w *Window) At(cell int) (from, to float64) {
	first, width := w.lastCell()+1-int64(w.cells()), 2*w.perDot()
	return float64(first+int64(cell)) * width, float64(first+int64(cell)+1) * width
}

// Lines paints the mark lines and the cursor through row y, for a plot whose first cell is column x. Titles do it before
// their text, so that text wins.
func (w *Window) Lines(g *Grid, x, y int, gl Glyphs) {
	s := gl.signs()
	for _, m := range w.Marks {
		if c, ok := w.Column(m.T); ok {
			g.Set(x+c, y, s.mark, Ink)
		}
	}
	w.cursor(g, x, y, s)
}

func (w *Window) cursor(g *Grid, x, y int, s *signs) {
	if w.Cursor > 0 {
		if c, ok := w.Column(w.Cursor); ok {
			g.Set(x+c, y, s.cursor, Good)
		}
	}
}
