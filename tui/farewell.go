package tui

import (
	"fmt"
	"strings"

	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tui/pane"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/trial"
)

// Farewell is what stays on the terminal after the screen: what was put back (as [rig.Bench.Close] says, with its error)
// and what the turns did. It is plain text with a line end, in the signs of gl.
func Farewell(s Summary, back []knob.Result, failed error, gl chart.Glyphs) string {
	f := farewell{gl: gl}
	f.head(s)
	f.putBack(back, s.withLoad(), failed, len(s.Kept) > 0, s.turned())
	f.kept(s.Kept)
	f.verdicts(s)
	return f.b.String()
}

// farewell writes lines whose columns are counted in cells.
type farewell struct {
	gl chart.Glyphs
	b  strings.Builder
}

// at is text that begins in column col, or ends there if right.
type at struct {
	col   int
	right bool
	text  string
}

// line writes cells in their columns; what would overlap is moved on by one blank.
func (f *farewell) line(cells ...at) {
	var out strings.Builder
	x := 0
	for _, c := range cells {
		text := f.gl.Text(c.text)
		start := c.col
		if c.right {
			start = c.col + 1 - chart.Width(text)
		}
		if start <= x && x > 0 {
			start = x + 1
		}
		out.WriteString(strings.Repeat(" ", max(start-x, 0)))
		out.WriteString(text)
		x = max(start, x) + chart.Width(text)
	}
	f.b.WriteString(strings.TrimRight(out.String(), " ") + "\n")
}

func (f *farewell) head(s Summary) {
	st := pane.Status{Spec: s.Spec}
	words := []string{s.Title}
	if s.Dialect != "" {
		words = append(words, s.Dialect)
	}
	words = append(words, st.Load())
	f.line(at{1, false, fmt.Sprintf("ethtune  %s   ran %s   moved %s", strings.Join(words, ", "), lasted(s.Ran), amount(s.Moved))})
}

// Columns of the list of what was put back.
const (
	backStart = 30
	backQuit  = 40
	backNow   = 50
	backWord  = 54
)

// putBack lists what was put back. Where all that was turned was kept there is nothing to say of it.
func (f *farewell) putBack(back, withLoad []knob.Result, failed error, kept, turned bool) {
	nothing := len(back)+len(withLoad) == 0 && failed == nil
	if nothing && kept {
		return
	}
	f.line()
	if nothing {
		why := "no setting was changed"
		if turned {
			why = "all that was turned is as it was at the start"
		}
		f.line(at{1, false, "put back   nothing: " + why})
		return
	}
	f.line(at{1, false, "put back"}, at{backStart, true, "at start"}, at{backQuit, true, "at quit"}, at{backNow, true, "now"}, at{backWord, false, "read back"})
	missing, left := 0, 0
	for _, r := range back {
		word := "put back"
		switch {
		case r.Outcome == knob.Unchanged && r.Reason != "":
			word = "left: " + r.Reason
			left++
		case !knob.Same(r.Knob, r.Value, r.Got):
			missing++
			word = "NOT BACK"
			if r.Reason != "" {
				word += ": " + r.Reason
			}
		case r.From == r.Got:
			word = "same as start"
		}
		f.knob(r, r.Value, r.From, r.Got, word)
	}
	for _, r := range withLoad {
		f.knob(r, r.From, r.Got, "", "went with the load")
	}
	switch {
	case failed != nil:
		f.line(at{3, false, "NOT ALL BACK: " + failed.Error()})
	case missing > 0:
		f.line(at{3, false, fmt.Sprintf("%d of %d are not back.", missing, len(back))})
	case left > 0:
	case len(back) == 1:
		f.line(at{3, false, "It is back."})
	case len(back) > 1:
		f.line(at{3, false, fmt.Sprintf("All %d are back.", len(back))})
	}
}

func (f *farewell) knob(r knob.Result, start, quit, now, word string) {
	f.line(at{3, false, pane.Named(string(r.Side), r.Knob)},
		at{backStart, true, pane.Value(r.Knob, start)}, at{backQuit, true, pane.Value(r.Knob, quit)},
		at{backNow, true, pane.Value(r.Knob, now)}, at{backWord, false, word})
}

// kept lists what outlives the run because the user wanted it, and how to put it back.
func (f *farewell) kept(kept []knob.Result) {
	if len(kept) == 0 {
		return
	}
	f.line()
	f.line(at{1, false, "kept"}, at{backStart, true, "at start"}, at{backQuit, true, "at quit"}, at{backNow, true, "now"})
	for _, r := range kept {
		f.knob(r, r.From, r.Got, r.Got, "kept")
	}
	f.line(at{3, false, "To put back what was kept: ethtune knob restore"})
}

// verdictColumns are the metrics of the list of verdicts and where their numbers end.
var verdictColumns = []struct {
	metric, head string
	edge         int
}{{trial.Bandwidth, "bandwidth", 34}, {trial.Jitter, "jitter", 52}, {trial.Loss, "loss", 70}}

func (f *farewell) verdicts(s Summary) {
	var cells []at
	last := 0
	flush := func() {
		if cells != nil {
			f.line(cells...)
		}
	}
	for _, v := range s.Verdicts {
		if last == 0 {
			f.line()
			head := []at{{1, false, "verdicts"}}
			for _, c := range verdictColumns {
				head = append(head, at{c.edge, true, c.head})
			}
			f.line(head...)
		}
		if v.Mark != last {
			flush()
			last = v.Mark
			cells = []at{{3, false, fmt.Sprintf("%d %s %s", v.Mark, pane.Named(v.Side, v.Knob), pane.Value(v.Knob, v.B))}}
		}
		for _, c := range verdictColumns {
			if c.metric == v.Metric {
				text, sign := pane.Told(v)
				cells = append(cells, at{c.edge, true, text}, at{c.edge + 2, false, sign})
			}
		}
	}
	flush()
}
