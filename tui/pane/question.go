package pane

import (
	"fmt"

	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tune/knob"
)

// Question asks, before the screen ends, what becomes of the settings that outlive the run. The default, and what no answer
// means, is the way back.
type Question struct {
	open   bool
	asked  bool   // to keep them; the answer is on its way
	failed string // why they could not be kept, until the next key
}

// Ask opens the question.
func (q *Question) Ask() { *q = Question{open: true} }

// Open reports whether keys are answers now.
func (q *Question) Open() bool { return q.open }

// Failed says that nothing was kept, and asks again.
func (q *Question) Failed(why string) { *q = Question{open: true, failed: why} }

// Type takes a key while the question is open. What is being kept is waited for: nobody could say what became of it.
func (q *Question) Type(name string) Intent {
	if q.asked {
		return nil
	}
	q.failed = ""
	switch name {
	case "y":
		q.asked = true
		return Leave{Keep: true}
	case "n", "enter":
		return Leave{}
	case "esc":
		q.open = false
	}
	return nil
}

// Rows of the box around the settings: its lines, the keys, and the air above and below the settings.
const (
	boxLeast = 3
	boxFull  = 5
)

// Draw paints the question about kept into r: a box as high as it needs to be or r allows, and no box where there is no
// room for one. Each Result has the value at the start as From and the one now as Got.
func (q *Question) Draw(b Brush, r Rect, kept []knob.Result) {
	switch {
	case r.Empty():
		return
	case r.H <= boxLeast:
		q.drawBare(b, r, kept)
		return
	}
	air := 0
	if r.H >= boxFull+1 {
		air = 1
	}
	rows := max(1, min(len(kept), r.H-boxLeast-2*air))
	r.H = boxLeast + 2*air + rows
	drawBox(b, r, "Keep or put back?", outlives(len(kept)))
	inner := Rect{r.X + 3, r.Y + 1 + air, r.W - 6, rows}
	q.drawSettings(b, inner, kept)
	if q.failed != "" && air > 0 {
		q.drawFailed(b, inner.Row(rows))
	}
	q.drawAnswers(b, inner.Row(rows+air), air > 0)
}

// outlives is the fact of the question.
func outlives(n int) string {
	switch n {
	case 0:
		return "a turn is not answered yet"
	case 1:
		return "1 setting outlives this run"
	}
	return fmt.Sprintf("%d settings outlive this run", n)
}

func (q *Question) drawSettings(b Brush, r Rect, kept []knob.Result) {
	width := 0
	for _, s := range kept {
		width = max(width, b.Width(Named(string(s.Side), s.Knob)))
	}
	for i := range min(r.H, len(kept)) {
		y := r.Y + i
		if i == r.H-1 && len(kept) > r.H {
			b.Text(r.X, y, r.W, fmt.Sprintf("and %d more", len(kept)-i), chart.Ink)
			return
		}
		s := kept[i]
		x := b.Text(r.X, y, r.W, Named(string(s.Side), s.Knob), chart.Ink)
		x = max(x, r.X+width) + 3
		b.Text(x, y, r.X+r.W-x, Whole(s.Knob, s.From)+" → "+Whole(s.Knob, s.Got), chart.Ink)
	}
}

func (q *Question) drawFailed(b Brush, r Rect) {
	sign, st := Failed.look()
	b.Line(r, Span{sign, st}, Span{" not kept: " + q.failed, chart.Ink})
}

// drawAnswers paints the keys, or what became of the last one. told says that a failure stands elsewhere.
func (q *Question) drawAnswers(b Brush, r Rect, told bool) {
	switch {
	case q.asked:
		sign, st := Pending.look()
		b.Line(r, Span{sign, st}, Span{" keeping", chart.Ink})
		return
	case q.failed != "" && !told:
		q.drawFailed(b, r)
		return
	}
	b.Line(r, Span{"y", chart.Bold}, Span{" keep  ", chart.Ink}, Span{"n put back", chart.Reverse},
		Span{"  esc", chart.Bold}, Span{" stay", chart.Ink}, Span{"  No answer means put back.", chart.Ink})
}

// drawBare is the question where there is no room for a box.
func (q *Question) drawBare(b Brush, r Rect, kept []knob.Result) {
	if r.H > 1 {
		what := fmt.Sprintf("%d settings", len(kept))
		switch len(kept) {
		case 0:
			what = "what is not answered yet"
		case 1:
			what = Named(string(kept[0].Side), kept[0].Knob) + " " + Value(kept[0].Knob, kept[0].Got)
		}
		b.Text(r.X, r.Y, r.W, "Keep "+what+"?", chart.Bold)
	}
	q.drawAnswers(b, r.Row(r.H-1), false)
}

// Named is a knob as it is typed on a command line.
func Named(side, name string) string { return side + ":" + knob.Short(name) }
