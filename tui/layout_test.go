package tui

import (
	"context"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tui/pane"
	"github.com/ethtune/ethtune/tune/knob"
)

// At the design size everything stands where it was designed.
func TestLayoutOfDesignSize(t *testing.T) {
	l := LayoutOf(80, 24, 4)
	want := Layout{
		Screen: pane.Rect{X: 1, W: 78, H: 24},
		Status: pane.Rect{X: 1, Y: 0, W: 78, H: 1},
		Scope:  pane.Rect{X: 1, Y: 1, W: 78, H: 14},
		Rows:   pane.ScopeRows{Bandwidth: 5, Jitter: 3, Loss: 2},
		Knobs:  pane.Rect{X: 1, Y: 15, W: 45, H: 7},
		Rule:   pane.Rect{X: 47, Y: 15, W: 1, H: 7},
		Events: pane.Rect{X: 49, Y: 15, W: 30, H: 7},
		Help:   pane.Rect{X: 1, Y: 22, W: 78, H: 1},
		Hints:  pane.Rect{X: 1, Y: 23, W: 78, H: 1},
		Dialog: pane.Rect{X: 1, Y: 15, W: 78, H: 9},
	}
	if l != want {
		t.Errorf("got  %+v\nwant %+v", l, want)
	}
}

// At any size no two panes touch, and the first and the last column stay empty.
func TestLayoutKeepsPanesApart(t *testing.T) {
	for cols := range 260 {
		for rows := range 90 {
			for _, cpus := range []int{0, 1, 64} {
				checkLayout(t, cols, rows, cpus)
			}
		}
	}
}

func checkLayout(t *testing.T, cols, rows, cpus int) {
	l := LayoutOf(cols, rows, cpus)
	if o := l.Dialog; !o.Empty() && (o.Y < l.Scope.Y+l.Scope.H || o.X < 1 || o.X+o.W > cols-1 || o.Y+o.H > rows) {
		t.Fatalf("%dx%d: a question covers the charts or leaves the screen: %+v", cols, rows, l)
	}
	if l.OneLine.Empty() && l.Dialog.Empty() && cols > 0 && rows > 0 {
		t.Fatalf("%dx%d: there is no room for a question: %+v", cols, rows, l)
	}
	owner := make(map[[2]int]string)
	for name, r := range map[string]pane.Rect{
		"status": l.Status, "scope": l.Scope, "knobs": l.Knobs, "rule": l.Rule, "events": l.Events,
		"cpus": l.CPUs, "divide": l.Divide, "link": l.Link, "top": l.Top,
		"help": l.Help, "hints": l.Hints, "one line": l.OneLine,
	} {
		if r.Empty() {
			continue
		}
		least := 1
		if cols < 3 {
			least = 0
		}
		if r.X < least || r.Y < 0 || r.X+r.W > cols-least || r.Y+r.H > rows {
			t.Fatalf("%dx%d: %s is out of the screen: %+v", cols, rows, name, r)
		}
		// Left edge, right edge and corners are enough: rectangles that overlap share one of them, or a row of one.
		for y := r.Y; y < r.Y+r.H; y++ {
			for _, x := range []int{r.X, r.X + r.W - 1} {
				if o := owner[[2]int{x, y}]; o != "" && o != name {
					t.Fatalf("%dx%d: %s and %s overlap at %d,%d", cols, rows, name, o, x, y)
				}
				owner[[2]int{x, y}] = name
			}
		}
	}
	if l.Scope.H != l.Rows.Height() && !l.Scope.Empty() {
		t.Fatalf("%dx%d: charts have %d rows and need %d", cols, rows, l.Scope.H, l.Rows.Height())
	}
	if l.OneLine.Empty() && (l.Status.Empty() || l.Scope.Empty() || l.Knobs.Empty() || l.Hints.Empty()) && cols > 0 && rows > 0 {
		t.Fatalf("%dx%d: something is missing: %+v", cols, rows, l)
	}
}

// Resizing and keys in any order never panic, never paint into the outer columns, and ctrl+c always quits.
func FuzzResize(f *testing.F) {
	f.Add(uint8(80), uint8(24), "?jjq")
	f.Add(uint8(1), uint8(1), " u1hl")
	f.Add(uint8(0), uint8(0), "gggp")
	f.Add(uint8(40), uint8(10), "/x3j")
	f.Add(uint8(200), uint8(60), "cn+-=f")
	f.Add(uint8(60), uint8(16), "qyq")
	f.Add(uint8(120), uint8(40), "qx")
	f.Add(uint8(20), uint8(5), "q")
	m := newHostScene(f, 80, 24, chart.Braille, 64)
	m.cfg.Keep = func(context.Context, []knob.Setting) error { return nil }
	feed(m, hostMark(3, backlog, "1000", "5")...)
	f.Fuzz(func(t *testing.T, cols, rows uint8, keys string) {
		keys = keys[:min(len(keys), 40)]
		m.resize(80, 24)
		m.ask, m.turns.queue = pane.Question{}, nil
		m.Update(tea.WindowSizeMsg{Width: int(cols), Height: int(rows)})
		for _, k := range keys {
			m.Update(tea.KeyPressMsg{Code: k, Text: string(k)})
			m.tick(clockAt(sceneEnd))
		}
		w, h := m.grid.Size()
		if len(strings.Split(m.content, "\n")) > max(h, 1) {
			t.Errorf("%dx%d: too many lines", w, h)
		}
		for y := range h {
			if w >= 3 && (m.grid.At(0, y).Rune > ' ' || m.grid.At(w-1, y).Rune > ' ') {
				t.Errorf("%dx%d: row %d reaches an outer column", w, h, y)
			}
		}
		if cmds := press(t, m, "ctrl+c"); len(cmds) != 1 {
			t.Fatal("ctrl+c gave no command")
		} else if _, ok := cmds[0]().(tea.QuitMsg); !ok {
			t.Error("ctrl+c does not quit")
		}
	})
}
