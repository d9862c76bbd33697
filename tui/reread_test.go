package tui

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tui/term"
	"github.com/ethtune/ethtune/tune/knob"
)

// What another program does to a knob is seen within the time of one reading, and a key steps on from there.
func TestChangedByAnother(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a reading that comes by itself")
	}
	r := start(t, term.Caps{Columns: 80, Rows: 24})
	waitFor(t, r.screen, "the knobs", has("▸ tso"))
	r.bench.Host.(*fakeRig).set(backlog, "3000")
	waitFor(t, r.screen, "the change", has("another set backlog 3000"))
	if _, err := r.keys.Write([]byte("/backlog\r+")); err != nil {
		t.Fatal(err)
	}
	waitFor(t, r.screen, "the turn", has("backlog   6000", "turned at 1"))
}

// A reading that began before a turn says nothing, and there is none under a turn.
func TestRereadBesideTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newScene(t, 80, 24, chart.Braille)
		host := m.cfg.Bench.Host.(*fakeRig)
		early := m.reread()().(rereadMsg)
		cmd := m.turns.add(turn{plan: knob.Plan{{Side: knob.Host, Knob: backlog, Value: "5"}}})
		began := time.Now()
		if _, ok := m.reread()().(dueMsg); !ok || time.Since(began) != rereadEvery {
			t.Errorf("under a turn: %v after %v", ok, time.Since(began))
		}
		m.Update(cmd())
		if m.Update(early); m.knobs.State(knob.Host, backlog).Value != "5" {
			t.Error("an old reading was shown")
		}
		host.set(backlog, "7")
		host.set(budget, "600")
		_, next := m.Update(m.reread()())
		if got := m.knobs.State(knob.Host, backlog).Value; got != "7" {
			t.Errorf("shows %s", got)
		}
		if _, ok := next().(dueMsg); !ok {
			t.Error("no further reading")
		}
		if left := m.ledger.lasting(m.cfg.lasting()); left != nil {
			t.Errorf("still this run's: %+v", left)
		}
		m.paint()
		if n := strings.Count(m.plain(), "another set"); n != 2 {
			t.Errorf("told %d times", n)
		}
	})
}
