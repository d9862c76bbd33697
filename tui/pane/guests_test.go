package pane

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
)

func come(l *GuestList, ids ...int) {
	for _, id := range ids {
		l.Add(&metric.Guest{ID: id, Event: "in", Peer: fmt.Sprintf("10.0.0.%d:5000", id)}, sinceOpen(0))
	}
}

// chosen is the guest that k would end, 0 for none.
func chosen(l *GuestList) int {
	if a, ok := l.Do(EndSession).(Ask); ok {
		return a.Do.(EndOf).ID
	}
	return 0
}

// The cursor stays on its guest while others come and go, and on its row when the guest itself goes.
func TestCursorStaysOnItsGuest(t *testing.T) {
	var l GuestList
	if in, ok := l.Do(EndSession).(Say); !ok || chosen(&l) != 0 {
		t.Errorf("with nobody there: %v", in)
	}
	come(&l, 1, 2, 3, 4)
	l.Do(RowDown)
	l.Do(RowDown)
	for _, step := range []struct{ gone, want int }{{1, 3}, {4, 3}, {3, 2}, {2, 0}} {
		l.Add(&metric.Guest{ID: step.gone, Event: "out"}, sinceOpen(1))
		if got := chosen(&l); got != step.want {
			t.Errorf("after %d left: %d, want %d", step.gone, got, step.want)
		}
	}
}

// A session whose end was asked for is not asked for again.
func TestEndIsAskedOnce(t *testing.T) {
	var l GuestList
	come(&l, 7)
	l.Ending(7, true)
	if _, ok := l.Do(EndSession).(Say); !ok {
		t.Error("asked again")
	}
	l.Ending(7, false)
	if chosen(&l) != 7 {
		t.Error("not asked after it failed")
	}
}

// The columns fill the width from 37 cells on and never more, and the addresses are always among them.
func TestColumnsFit(t *testing.T) {
	for w := 38; w < 260; w++ {
		n := 0
		cols := fitColumns(w)
		for _, c := range cols {
			n += c.width
		}
		if n != w || cols[colName].head != "clients" {
			t.Fatalf("%d cells: %d are used by %d columns", w, n, len(cols))
		}
	}
}

// Two from one address are told apart by their ports.
func TestPortsTellApart(t *testing.T) {
	var l GuestList
	come(&l, 1)
	g := l.all[0]
	if got := l.name(g, 16); got != "10.0.0.1" {
		t.Error(got)
	}
	l.Add(&metric.Guest{ID: 2, Event: "in", Peer: "10.0.0.1:5001"}, sinceOpen(0))
	if got := l.name(g, 16); got != "10.0.0.1:5000" {
		t.Error(got)
	}
	if got := l.name(g, 10); got != "10.0.0.1" {
		t.Error(got)
	}
}

func TestConfirmAnswers(t *testing.T) {
	for key, want := range map[string]Intent{"y": EndOf{3}, "n": nil, "enter": nil, "esc": nil, "k": nil, "q": nil} {
		var c Confirm
		c.Ask(Ask{Title: "End it?", Do: EndOf{3}, About: 3})
		if d := cmp.Diff(want, c.Type(key)); d != "" {
			t.Errorf("%s:\n%s", key, d)
		}
		if open := key == "k" || key == "q"; c.Open() != open || (c.About() == 3) != open {
			t.Errorf("%s: open is %v", key, c.Open())
		}
	}
}

// The log is bounded, its newest line is at the top, and it says in the longest form that fits what happened.
func TestVisits(t *testing.T) {
	var v Visits
	for id := range 3 * keepVisits {
		v.Add(&metric.Guest{ID: id, Event: "in", Peer: "10.0.0.1:1"})
	}
	if len(v.ring) != keepVisits {
		t.Errorf("%d lines", len(v.ring))
	}
	g := &metric.Guest{ID: 900, Event: "in", Dialect: "native", Peer: "10.0.0.2:1", Time: opened}
	v.Add(g)
	here := *g
	here.Event, here.Proto, here.Mode, here.Streams = "here", metric.TCP, metric.ModeIn, 4
	v.Add(&here)
	out := here
	out.Event, out.Seconds, out.TxBytes, out.Reason = "out", 2, 250e6, "connection reset by peer"
	far := out
	far.Reason = "write tcp 192.168.100.100:5202->192.168.100.101:40112: no route to host"
	grid := chart.NewGrid(100, 3)
	for _, step := range []struct {
		rec  *metric.Guest
		want string
	}{
		{nil, "14:00:00  10.0.0.2        native opened, tcp ×4, we send"},
		{&out, "native tcp ×4 ended, 1000 Mbit/s: connection reset by peer"},
		{&far, "native tcp ×4 ended, 1000 Mbit/s: no route to host"},
	} {
		if step.rec != nil {
			v.Add(step.rec)
		}
		grid.Reset(100, 3)
		v.Draw(Brush{Grid: grid}, Rect{0, 0, 100, 3})
		if line := strings.Split(grid.String(), "\n")[1]; !strings.Contains(line, step.want) {
			t.Errorf("%q is not %q", line, step.want)
		}
	}
}
