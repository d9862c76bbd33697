package tui

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tune/knob"
)

const (
	backlog = "sysctl.net.core.netdev_max_backlog"
	budget  = "sysctl.net.core.netdev_budget"
	rmem    = "sysctl.net.ipv4.tcp_rmem"
)

// hostMark is a turn of a knob of the whole host at the end of the scene.
func hostMark(n int, name, from, to string) []metric.Record {
	recs := mark(n, name, from, to, to, knob.Applied)
	for _, r := range recs {
		r.(*metric.Mark).Side = string(knob.Host)
	}
	return recs
}

// What outlives the lab, what takes three numbers, and what others do, at every size that shows it in another way.
func TestGoldenHost(t *testing.T) {
	type size struct {
		cols, rows int
		gl         chart.Glyphs
	}
	design := []size{{80, 24, chart.Braille}, {80, 24, chart.ASCII}, {120, 40, chart.Braille}}
	every := append([]size{{60, 16, chart.Braille}, {40, 10, chart.ASCII}, {30, 8, chart.Braille}, {80, 24, chart.BlockLinux}}, design...)
	for _, tt := range []struct {
		name  string
		sizes []size
		do    func(t *testing.T, m *model)
	}{
		{"host-wide", design, func(t *testing.T, m *model) { choose(t, m, backlog) }},
		{"turned", design, func(t *testing.T, m *model) {
			feed(m, hostMark(3, backlog, "1000", "5")...)
			press(t, m, "f")
			choose(t, m, backlog)
		}},
		{"vector", design, func(t *testing.T, m *model) { choose(t, m, rmem) }},
		{"vector-turned", design[:1], func(t *testing.T, m *model) {
			choose(t, m, rmem)
			feed(m, mark(3, rmem, "4096 131072 6291456", "4096 8192 16384", "4096 8192 6291456", knob.Partial)...)
		}},
		{"vector-editor", design, func(t *testing.T, m *model) { choose(t, m, rmem); press(t, m, "enter") }},
		{"vector-editor-typed", design[:1], func(t *testing.T, m *model) {
			choose(t, m, rmem)
			press(t, m, "f", "enter", "-", "-", "left", "6", "4", "K")
		}},
		{"vector-editor-wrong", append(design[:2:2], every[0]), func(t *testing.T, m *model) {
			choose(t, m, rmem)
			press(t, m, "enter", "4", "k", "enter")
		}},
		{"changed-by-another", design, func(t *testing.T, m *model) {
			choose(t, m, backlog)
			m.cfg.Bench.Host.(*fakeRig).set(backlog, "3000")
			m.cfg.Bench.Far.(*fakeRig).set("feature.rx-gro", "on")
			m.readAgain(rereadMsg{statesMsg: readStates(context.Background(), m.cfg.Bench)})
		}},
		{"ask-one", every, func(t *testing.T, m *model) {
			feed(m, hostMark(3, backlog, "1000", "5")...)
			press(t, m, "q")
		}},
		{"ask-many", every, func(t *testing.T, m *model) {
			m.cfg.Lasting = []knob.Side{knob.Near, knob.Far, knob.Host}
			feed(m, hostMark(3, backlog, "1000", "5")...)
			feed(m, hostMark(4, budget, "300", "600")...)
			feed(m, mark(5, rmem, "4096 131072 6291456", "4096 8192 16384", "4096 8192 16384", knob.Applied)...)
			press(t, m, "q")
		}},
		{"ask-failed", design[:1], func(t *testing.T, m *model) {
			feed(m, hostMark(3, backlog, "1000", "5")...)
			press(t, m, "?", "q", "y")
			m.kept(keptMsg{err: errors.New("host: journal: no space left on device")})
		}},
		{"ask-keeping", design[:1], func(t *testing.T, m *model) {
			feed(m, hostMark(3, backlog, "1000", "5")...)
			press(t, m, "q", "y", "esc", "n")
		}},
	} {
		for _, s := range tt.sizes {
			t.Run(fmt.Sprintf("%s-%dx%d-%v", tt.name, s.cols, s.rows, s.gl), func(t *testing.T) {
				m := newScene(t, s.cols, s.rows, s.gl)
				m.cfg.Keep = func(context.Context, []knob.Setting) error { return nil }
				tt.do(t, m)
				m.paint()
				golden.RequireEqual(t, m.plain())
			})
		}
	}
}

// The default answer is reversed, without colours too.
func TestGoldenAskColour(t *testing.T) {
	m := newScene(t, 80, 24, chart.Braille)
	m.cfg.Keep = func(context.Context, []knob.Setting) error { return nil }
	feed(m, hostMark(3, backlog, "1000", "5")...)
	press(t, m, "q")
	for name, c := range map[string]chart.Colour{"sixteen": chart.Colour16, "mono": chart.Mono} {
		t.Run(name, func(t *testing.T) { golden.RequireEqual(t, string(m.grid.Bytes(c))) })
	}
}
