package pane

import (
	"strings"
	"testing"

	"github.com/ethtune/ethtune/tui/chart"
)

// A key means one thing in each pane, and every action has a key.
func TestKeysAreUnique(t *testing.T) {
	bound := make(map[Action]bool)
	for _, f := range []Focus{Charts, Knobs, Events, Guests} {
		seen := make(map[string]string)
		for _, k := range Keys {
			for _, p := range k.Press {
				bound[p.Action] = true
				if k.Where&f == 0 {
					continue
				}
				if other, twice := seen[p.Name]; twice {
					t.Errorf("%s: %q is in %q and in %q", f, p.Name, other, k.Shown)
				}
				seen[p.Name] = k.Shown
				if got := ActionOf(f, p.Name); got != p.Action {
					t.Errorf("%s: %q does %d, not %d", f, p.Name, got, p.Action)
				}
			}
		}
	}
	for a := NoAction + 1; a <= Quit; a++ {
		if !bound[a] {
			t.Errorf("action %d has no key", a)
		}
	}
}

// The help shows each row of the key map once, and nothing else that looks like one.
func TestHelpListsTheKeyMap(t *testing.T) {
	for _, w := range []int{38, 78, 198} {
		for f, screen := range map[Focus]Focus{Knobs: Anywhere, Guests: Guests} {
			g := chart.NewGrid(w, 60)
			var h HelpPage
			h.Draw(Brush{Grid: g}, Rect{0, 0, w, 60}, f)
			text := g.String()
			rows, want := 0, 0
			for _, k := range Keys {
				if k.Topic == "" || k.Help == "" {
					t.Errorf("%q has no topic or no help", k.Shown)
				}
				if k.Where&screen == 0 {
					continue
				}
				want++
				if n := strings.Count(text, k.Shown+strings.Repeat(" ", helpText-helpKeys-len(k.Shown))+k.Help[:min(len(k.Help), 12)]); n != 1 {
					t.Errorf("%d columns: %q is there %d times:\n%s", w, k.Shown, n, text)
				}
			}
			for _, lines := range helpColumns(2, f) {
				for _, l := range lines {
					if l.keys != "" {
						rows++
					}
				}
			}
			if rows != want {
				t.Errorf("%s: %d rows for %d keys", f, rows, want)
			}
		}
	}
}

// How to get help and how to get out are never dropped; others go from the right.
func TestHintsDropFromTheRight(t *testing.T) {
	for w := 14; w < 120; w++ {
		g := chart.NewGrid(w, 1)
		Hints(Brush{Grid: g}, Rect{0, 0, w, 1}, Knobs)
		text := g.String()
		if !strings.HasSuffix(text, "? help  q quit") {
			t.Fatalf("%d columns: %q", w, text)
		}
		if strings.Contains(text, "freeze") && !strings.Contains(text, "space turn") {
			t.Fatalf("%d columns: the first went before the last: %q", w, text)
		}
	}
}

// Typing at the help changes nothing but what is in view.
func TestHelpScrolls(t *testing.T) {
	g := chart.NewGrid(60, 12)
	var h HelpPage
	top := func() string {
		g.Reset(60, 12)
		h.Draw(Brush{Grid: g}, Rect{0, 0, 60, 12}, Charts)
		return strings.Split(g.String(), "\n")[2]
	}
	first := top()
	h.Do(RowUp)
	if got := top(); got != first {
		t.Errorf("above the first line: %q", got)
	}
	h.Do(Last)
	last := top()
	h.Do(RowDown)
	if got := top(); got != last || got == first {
		t.Errorf("at the end: %q, then %q", last, got)
	}
	h.Do(First)
	if got := top(); got != first {
		t.Errorf("back at the top: %q", got)
	}
}
