package pane

import (
	"strings"

	"github.com/ethtune/ethtune/tui/chart"
)

// corners of a box, clockwise from the top left. The console's font has no round ones.
func corners(gl chart.Glyphs) [4]string {
	switch gl {
	case chart.Braille, chart.Block:
		return [4]string{"╭", "╮", "╯", "╰"}
	case chart.BlockLinux:
		return [4]string{"┌", "┐", "┘", "└"}
	}
	return [4]string{"+", "+", "+", "+"}
}

// drawBox paints a box with what it asks at the left of its upper edge and the fact at the right. Boxes are for questions
// only.
func drawBox(b Brush, r Rect, title, fact string) {
	c := corners(b.Glyphs)
	edge := strings.Repeat("─", max(r.W-2, 0))
	for _, e := range []struct{ y, left, right int }{{r.Y, 0, 1}, {r.Y + r.H - 1, 3, 2}} {
		b.Text(r.X, e.y, r.W, c[e.left]+edge+c[e.right], chart.Ink)
	}
	for y := r.Y + 1; y < r.Y+r.H-1; y++ {
		b.Text(r.X, y, 1, "│", chart.Ink)
		b.Text(r.Right(), y, 1, "│", chart.Ink)
	}
	x := b.Text(r.X+2, r.Y, r.W-4, " "+title+" ", chart.Bold)
	if r.Right()-2-b.Width(fact) > x+2 {
		b.Ending(r.Right()-2, r.Y, " "+fact+" ", chart.Ink)
	}
}
