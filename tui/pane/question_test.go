package pane

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tune/knob"
)

func TestQuestionAnswers(t *testing.T) {
	for key, want := range map[string]Intent{"y": Leave{Keep: true}, "n": Leave{}, "enter": Leave{}, "esc": nil, "q": nil, "space": nil} {
		var q Question
		q.Ask()
		if d := cmp.Diff(want, q.Type(key)); d != "" {
			t.Errorf("%s:\n%s", key, d)
		}
		if open := key != "esc"; q.Open() != open {
			t.Errorf("%s: open is %v", key, q.Open())
		}
	}
	var q Question
	q.Ask()
	q.Type("y")
	for _, key := range []string{"y", "n", "esc", "enter"} {
		if in := q.Type(key); in != nil || !q.Open() {
			t.Errorf("%s while keeping gave %v", key, in)
		}
	}
	q.Failed("no space left on device")
	if d := cmp.Diff(Leave{}, q.Type("n")); d != "" {
		t.Error(d)
	}
}

// At any size the answers are there, the picture stays in its rectangle, and what does not fit is counted.
func TestQuestionFits(t *testing.T) {
	var kept []knob.Result
	for range 12 {
		kept = append(kept, knob.Result{
			Setting: knob.Setting{Side: knob.Host, Knob: rmem}, From: "4096 131072 6291456", Got: "4096 131072 33554432",
		})
	}
	for n := range kept {
		for w := 28; w < 130; w++ {
			for h := 1; h < 20; h++ {
				var q Question
				q.Ask()
				g := chart.NewGrid(w+2, h+2)
				q.Draw(Brush{Grid: g, Glyphs: chart.ASCII}, Rect{1, 1, w, h}, kept[:n])
				text := g.String()
				for _, word := range []string{"y keep", "n put back"} {
					if !strings.Contains(text, word) {
						t.Fatalf("%d settings in %dx%d: no %q:\n%s", n, w, h, word, text)
					}
				}
				if shown := strings.Count(text, "host:tcp_rmem"); h > boxLeast && shown < n && !strings.Contains(text, "more") {
					t.Fatalf("%d settings in %dx%d: only %d:\n%s", n, w, h, shown, text)
				}
				for x := range w + 2 {
					for y := range h + 2 {
						if (x == 0 || y == 0 || x > w || y > h) && g.At(x, y).Rune > ' ' {
							t.Fatalf("%d settings in %dx%d: painted at %d,%d:\n%s", n, w, h, x, y, text)
						}
					}
				}
			}
		}
	}
}

func TestSeveralErrorsAreOneLine(t *testing.T) {
	spans := Say{Text: errors.Join(errors.New("no device"), errors.New("no ring")).Error(), Bad: true}.Spans()
	if got := spans[len(spans)-1].Text; got != "no device; no ring" {
		t.Errorf("%q", got)
	}
}
