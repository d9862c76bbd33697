package tui

import (
	"context"
	"errors"
	"io"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tui/term"
	"github.com/ethtune/ethtune/tune/knob"
)

// What outlives the run is asked for on quit; nothing else is, and ctrl+c never asks.
func TestWhatIsAsked(t *testing.T) {
	turned := func(m *model) { feed(m, hostMark(3, backlog, "1000", "5")...) }
	for _, tt := range []struct {
		name string
		do   func(m *model)
		keys []string
		asks bool
	}{
		{"nothing turned", func(*model) {}, []string{"q"}, false},
		{"a knob of the host", turned, []string{"q"}, true},
		{"from the help", turned, []string{"?", "q"}, true},
		{"ctrl+c", turned, []string{"ctrl+c"}, false},
		{"ctrl+c from the help", turned, []string{"?", "ctrl+c"}, false},
		{"ctrl+c at the question", turned, []string{"q", "ctrl+c"}, false},
		{"ctrl+c while typing", turned, []string{"/", "x", "ctrl+c"}, false},
		{"put back", turned, []string{"q", "n"}, false},
		{"the default answer", turned, []string{"q", "enter"}, false},
		{"a knob of a namespace", func(m *model) {
			feed(m, mark(3, rmem, "4096 131072 6291456", "4096 8192 16384", "4096 8192 16384", knob.Applied)...)
		}, []string{"q"}, false},
		{"the same where it is the host's", func(m *model) {
			m.cfg.Lasting = []knob.Side{knob.Near}
			feed(m, mark(3, rmem, "4096 131072 6291456", "4096 8192 16384", "4096 8192 16384", knob.Applied)...)
		}, []string{"q"}, true},
		{"the load", func(m *model) {
			m.cfg.Lasting = []knob.Side{knob.Near}
			feed(m, mark(3, "engine.streams", "4", "5", "5", knob.Applied)...)
		}, []string{"q"}, false},
		{"turned and back", func(m *model) {
			turned(m)
			feed(m, hostMark(4, backlog, "5", "1000")...)
		}, []string{"q"}, false},
		{"not answered yet", func(m *model) {
			m.turns.add(turn{plan: knob.Plan{{Side: knob.Host, Knob: backlog, Value: "5"}}})
		}, []string{"q"}, true},
		{"moved by another since", func(m *model) {
			turned(m)
			m.ledger.forget(knob.Setting{Side: knob.Host, Knob: backlog})
		}, []string{"q"}, false},
		{"nobody to keep it", func(m *model) {
			turned(m)
			m.cfg.Keep = nil
		}, []string{"q"}, false},
		{"an end is lost", func(m *model) {
			turned(m)
			m.Update(lostMsg{errors.New("near: lost")})
		}, []string{"q"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newScene(t, 80, 24, chart.Braille)
			m.cfg.Keep = func(context.Context, []knob.Setting) error { return nil }
			tt.do(m)
			cmds := press(t, m, tt.keys...)
			quits := false
			if n := len(cmds); n > 0 {
				_, quits = cmds[n-1]().(tea.QuitMsg)
			}
			if quits == tt.asks || tt.asks && !m.ask.Open() {
				t.Errorf("quits %v, asks %v", quits, m.ask.Open())
			}
			if tt.asks {
				press(t, m, "esc")
				if m.ask.Open() {
					t.Error("esc does not lead back")
				}
			}
		})
	}
}

// Settings are kept as they are once the turns before the answer are through, and only then the screen ends.
func TestKeepWaitsForTurns(t *testing.T) {
	m := newScene(t, 80, 24, chart.Braille)
	var kept []knob.Setting
	failing := errors.New("no space left on device")
	m.cfg.Keep = func(_ context.Context, keep []knob.Setting) error {
		kept = keep
		return failing
	}
	set := knob.Setting{Side: knob.Host, Knob: backlog, Value: "5"}
	first := m.turns.add(turn{plan: knob.Plan{set}})
	if cmds := press(t, m, "q", "y"); cmds != nil || kept != nil {
		t.Fatalf("%d commands, kept %v under a turn", len(cmds), kept)
	}
	_, keep := m.Update(first())
	_, again := m.Update(keep())
	if d := cmp.Diff([]knob.Setting{set}, kept); d != "" {
		t.Error(d)
	}
	if again != nil || !m.ask.Open() || m.turns.busy {
		t.Errorf("after a failure: command %v, asks %v, busy %v", again != nil, m.ask.Open(), m.turns.busy)
	}
	failing = nil
	_, quit := m.Update(press(t, m, "y")[0]())
	if _, ok := quit().(tea.QuitMsg); !ok {
		t.Error("kept, and no end")
	}
	want := []knob.Result{{Setting: set, From: "1000", Got: "5", Outcome: knob.Applied}}
	if d := cmp.Diff(want, m.summary.Kept); d != "" {
		t.Error(d)
	}
}

// By keys alone: a knob of the host is turned and kept, and closing the Bench leaves it.
func TestKeepOnScreen(t *testing.T) {
	r := start(t, term.Caps{Columns: 80, Rows: 24}, func(c *Config) { c.Keep = c.Bench.Keep })
	waitFor(t, r.screen, "the knobs", has("▸ tso"))
	_, _ = io.WriteString(r.keys, "/backlog\r")
	waitFor(t, r.screen, "the filter", has("▸ backlog   1000", "host-wide"))
	_, _ = io.WriteString(r.keys, "+")
	waitFor(t, r.screen, "the turn", has("backlog   2000", "turned at 1"))
	_, _ = io.WriteString(r.keys, "q")
	waitFor(t, r.screen, "the question", has("Keep or put back?", "host:backlog   1000 → 2000"))
	_, _ = io.WriteString(r.keys, "y")
	r.wait(t)
	if len(r.sum.Kept) != 1 || r.sum.Kept[0].Got != "2000" {
		t.Errorf("kept: %+v", r.sum.Kept)
	}
	back, err := r.bench.Close(t.Context())
	if err != nil || len(back) != 0 {
		t.Errorf("put back %+v, %v", back, err)
	}
	host := r.bench.Host.(*fakeRig)
	if states, _ := host.Read(t.Context()); states[0].Value != "2000" {
		t.Errorf("backlog is %s", states[0].Value)
	}
}

// Marks may come twice and in any order.
func TestLedger(t *testing.T) {
	m := func(n int, from, got string, also ...metric.Also) *metric.Mark {
		return &metric.Mark{N: n, Side: "host", Knob: backlog, From: from, Got: got, Outcome: string(knob.Applied), Also: also}
	}
	open := m(3, "5", "5")
	open.Outcome = metric.Pending
	beside := metric.Also{Knob: budget, From: "300", To: "600"}
	var l ledger
	for _, mark := range []*metric.Mark{m(2, "20", "5"), m(1, "1000", "20", beside), m(2, "20", "5"), m(1, "1000", "20", beside), open} {
		l.take(mark)
	}
	var got []string
	for _, r := range l.lasting([]knob.Side{knob.Host}) {
		got = append(got, knob.Short(r.Knob)+" "+r.From+" "+r.Got+" "+r.Value)
	}
	if d := cmp.Diff([]string{"backlog 1000 5 5", "budget 300 600 600"}, got); d != "" {
		t.Error(d)
	}
	if left := l.lasting([]knob.Side{knob.Near, knob.Far}); left != nil {
		t.Errorf("at other sides: %+v", left)
	}
}
