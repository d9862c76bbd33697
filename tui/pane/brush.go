package pane

import (
	"strings"

	"github.com/ethtune/ethtune/tui/chart"
)

// Rect is a part of the screen in cells, X and Y counted from 0 at the top left.
type Rect struct{ X, Y, W, H int }

// Empty reports whether there is nothing to draw into.
func (r Rect) Empty() bool { return r.W <= 0 || r.H <= 0 }

// Right is the last column inside.
func (r Rect) Right() int { return r.X + r.W - 1 }

// Row is the one row y, counted from the top of r.
func (r Rect) Row(y int) Rect { return Rect{r.X, r.Y + y, r.W, 1} }

// Brush paints words into a grid in the signs that the terminal can show.
type Brush struct {
	Grid   *chart.Grid
	Glyphs chart.Glyphs
}

// Width is how many cells s takes once it is in those signs.
func (b Brush) Width(s string) int { return chart.Width(b.Glyphs.Text(s)) }

// Text paints s from column x on, in at most room cells, and returns the column after it.
func (b Brush) Text(x, y, room int, s string, st chart.Style) int {
	return b.Grid.Text(x, y, cut(b.Glyphs.Text(s), room), st)
}

// Ending paints s so that it ends in column right, and returns its first column.
func (b Brush) Ending(right, y int, s string, st chart.Style) int {
	return b.Grid.TextRight(right, y, b.Glyphs.Text(s), st)
}

// Lamp paints l at x, y.
func (b Brush) Lamp(x, y int, l Lamp) {
	sign, st := l.look()
	b.Text(x, y, 1, sign, st)
}

// Span is a stretch of text in one style.
type Span struct {
	Text  string
	Style chart.Style
}

// Spans paints one after the other in at most room cells, and returns the column after the last.
func (b Brush) Spans(x, y, room int, spans ...Span) int {
	end := x + room
	for _, s := range spans {
		x = b.Text(x, y, end-x, s.Text, s.Style)
	}
	return x
}

// Line paints a sentence into the row r. A part that begins with a gap is left out whole, with all after it, where it does
// not fit.
func (b Brush) Line(r Rect, spans ...Span) {
	x := r.X
	for _, s := range spans {
		room := r.Right() + 1 - x
		if strings.HasPrefix(s.Text, "  ") && b.Width(s.Text) > room {
			return
		}
		x = b.Text(x, r.Y, room, s.Text, s.Style)
	}
}

// Rule paints the line left of a pane: one column wide, as high as r.
func (b Brush) Rule(r Rect) {
	for i := range r.H {
		b.Text(r.X, r.Y+i, r.W, "│", chart.Faint)
	}
}

// cut is s in at most room cells. Every rune is one cell on a Grid.
func cut(s string, room int) string {
	if room <= 0 {
		return ""
	}
	n := 0
	for i := range s {
		if n == room {
			return s[:i]
		}
		n++
	}
	return s
}

// Clear makes r blank, for a question over what is there.
func (b Brush) Clear(r Rect) {
	for i := range r.H {
		b.blank(r.X, r.Y+i, r.W)
	}
}
