package pane

import "github.com/ethtune/ethtune/tui/chart"

// hint is one entry of the hint bar.
type hint struct {
	keys, word string
	stays      bool
}

func (h hint) width(b Brush) int { return b.Width(h.keys) + 1 + b.Width(h.word) }

// Hints draws the hint bar of the pane f. What does not fit is dropped from the right, but never how to get help and how
// to get out.
func Hints(b Brush, r Rect, f Focus) {
	var all []hint
	for _, k := range Keys {
		if k.Where&f != 0 && k.Hint != "" {
			all = append(all, hint{k.Shown, k.Hint, k.Stays})
		}
	}
	drawHints(b, r, all)
}

const hintGap = 2

func drawHints(b Brush, r Rect, all []hint) {
	room := r.W
	for _, h := range all {
		if h.stays {
			room -= h.width(b) + hintGap
		}
	}
	x := r.X
	full := false
	for _, h := range all {
		if !h.stays {
			full = full || h.width(b) > room
			if full {
				continue
			}
			room -= h.width(b) + hintGap
		}
		x = b.Spans(x, r.Y, r.Right()+1-x, Span{h.keys, chart.Bold}, Span{" " + h.word, chart.Faint}) + hintGap
	}
}
