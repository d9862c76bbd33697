package tui

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ethtune/ethtune/tune/knob"
)

// Turns leave one at a time and in order; steps of one knob that still wait become one.
func TestTurnsKeepTheirOrder(t *testing.T) {
	bench, _ := newBench(t)
	q := turns{bench: bench, ctx: t.Context()}
	streams := func(v string) turn {
		return turn{plan: knob.Plan{{Side: knob.Near, Knob: "engine.streams", Value: v}}}
	}
	first := q.add(streams("5"))
	if first == nil {
		t.Fatal("the first turn waits")
	}
	for _, next := range []turn{streams("6"), streams("7"), {}, streams("8")} {
		if q.add(next) != nil {
			t.Fatal("two turns are under way")
		}
	}
	var got []string
	for cmd := first; cmd != nil; cmd = q.done() {
		msg := cmd().(turnedMsg)
		if msg.err != nil {
			t.Fatal(msg.err)
		}
		for _, m := range msg.marks {
			got = append(got, m.From+" to "+m.Got)
		}
	}
	if d := cmp.Diff([]string{"4 to 5", "5 to 7", "7 to 5", "5 to 8"}, got); d != "" {
		t.Error(d)
	}
}

// What cannot be undone any more is said, once.
func TestNothingToUndo(t *testing.T) {
	m := newScene(t, 80, 24, 0)
	cmds := press(t, m, "u")
	m.Update(cmds[0]())
	if m.say == nil || m.say.Text != "There is nothing to undo." {
		t.Errorf("said: %+v", m.say)
	}
	press(t, m, "down")
	if m.say != nil {
		t.Error("it is still said after the next key")
	}
}
