package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tune/knob"
)

// Look at a picture before it is made the reference: go test ./tui -run Golden -update
func TestGoldenSizes(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}, {100, 30}, {80, 20}, {60, 16}, {40, 10}, {20, 5}} {
		for _, gl := range []chart.Glyphs{chart.Braille, chart.ASCII} {
			t.Run(fmt.Sprintf("%dx%d-%v", size[0], size[1], gl), func(t *testing.T) {
				golden.RequireEqual(t, newScene(t, size[0], size[1], gl).plain())
			})
		}
	}
}

// The same picture with its colours, and without them.
func TestGoldenColour(t *testing.T) {
	m := newScene(t, 80, 24, chart.Braille)
	for name, c := range map[string]chart.Colour{"sixteen": chart.Colour16, "mono": chart.Mono} {
		t.Run(name, func(t *testing.T) { golden.RequireEqual(t, string(m.grid.Bytes(c))) })
	}
}

func TestGoldenStates(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, m *model)
	}{
		{"help", func(t *testing.T, m *model) { press(t, m, "?") }},
		{"help-small", func(t *testing.T, m *model) { m.resize(60, 16); press(t, m, "?", "down", "down") }},
		{"frozen", func(t *testing.T, m *model) { press(t, m, "1", "p", "left", "left") }},
		{"mark-without-verdict", func(t *testing.T, m *model) {
			feed(m, mark(3, "dev.mtu", "1500", "9000", "9000", knob.Applied)...)
			m.tick(clockAt(sceneEnd + 0.2))
			press(t, m, "1", "left")
		}},
		{"pending", func(t *testing.T, m *model) {
			feed(m, mark(3, "dev.mtu", "1500", "9000", "1500", metric.Pending)...)
		}},
		{"measuring", func(t *testing.T, m *model) {
			feed(m, mark(3, "dev.mtu", "1500", "9000", "9000", knob.Applied)...)
		}},
		{"refused", func(t *testing.T, m *model) {
			feed(m, mark(3, "feature.tx-generic-segmentation", "on", "off", "on", knob.Refused)...)
			press(t, m, "down")
		}},
		{"adjusted", func(t *testing.T, m *model) {
			feed(m, mark(3, "feature.rx-gro", "off", "on", "off", knob.Partial)...)
			feed(m, mark(4, "dev.mtu", "1500", "65535", "9000", knob.Adjusted)...)
			choose(t, m, "dev.mtu")
		}},
		{"side-effect", func(t *testing.T, m *model) {
			recs := mark(3, "feature.tx", "on", "off", "off", knob.Applied)
			recs[1].(*metric.Mark).Also = []metric.Also{
				{Knob: "feature.tso", From: "on", To: "off"}, {Knob: "feature.tx-tcp6-segmentation", From: "on", To: "off"},
			}
			feed(m, recs...)
		}},
		{"far-side", func(t *testing.T, m *model) {
			press(t, m, "f")
			recs := mark(3, "feature.rx-gro", "off", "on", "on", knob.Applied)
			for _, r := range recs {
				r.(*metric.Mark).Side = "far"
			}
			feed(m, recs...)
		}},
		{"editing", func(t *testing.T, m *model) {
			choose(t, m, "engine.streams")
			press(t, m, "enter", "7", "0", "x", "enter")
		}},
		{"filtering", func(t *testing.T, m *model) { press(t, m, "/", "s", "e", "g") }},
		{"filter", func(t *testing.T, m *model) { press(t, m, "/", "s", "e", "g", "enter") }},
		{"changed-only", func(t *testing.T, m *model) { press(t, m, "c") }},
		{"fixed", func(t *testing.T, m *model) { choose(t, m, "ring.rx"); press(t, m, "down") }},
		{"fixed-turned", func(t *testing.T, m *model) { choose(t, m, "feature.rx-lro"); press(t, m, "space") }},
		{"event-selected", func(t *testing.T, m *model) { press(t, m, "3", "down") }},
		{"zoomed", func(t *testing.T, m *model) { press(t, m, "1", "=", "=") }},
		{"silent", func(t *testing.T, m *model) { m.tick(clockAt(sceneEnd + 4)) }},
		{"both-ways", func(t *testing.T, m *model) {
			for i := 1; i <= 40; i++ {
				at := sceneEnd + float64(i)/10
				feed(m, &metric.Frame{T: at, Span: 0.1, Dir: metric.Out, RxBps: metric.N(18e9)},
					&metric.Frame{T: at, Span: 0.1, Dir: metric.In, RxBps: metric.N(9e9)})
			}
			m.tick(clockAt(sceneEnd + 4))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newScene(t, 80, 24, chart.Braille)
			tt.do(t, m)
			m.paint()
			golden.RequireEqual(t, m.plain())
		})
	}
}

// choose goes to a knob as a person would: down from the first.
func choose(t *testing.T, m *model, name string) {
	t.Helper()
	press(t, m, "2", "home")
	for range 100 {
		if strings.HasPrefix(m.knobs.Brief()+" ", knob.Short(name)+" ") {
			return
		}
		press(t, m, "down")
	}
	t.Fatalf("%s is not in the list", name)
}

// mark is a turn at the end of the scene, opened and, unless it is pending, closed.
func mark[S ~string](n int, name, from, asked, got string, outcome S) []metric.Record {
	m := metric.Mark{
		N: n, T: sceneEnd, Time: clockAt(sceneEnd), Knob: name, Side: "near",
		From: from, Asked: asked, Got: from, Outcome: metric.Pending,
	}
	if string(outcome) == metric.Pending {
		return []metric.Record{&m}
	}
	done := m
	done.Got, done.Outcome = got, string(outcome)
	if from == got && asked != got {
		done.Reason = "Operation not supported"
	}
	return []metric.Record{&m, &done}
}

// Before anything has come the screen says so and draws no number.
func TestGoldenStart(t *testing.T) {
	bench, _ := newBench(t)
	m := newBare(t, bench, 80, 24, chart.Braille)
	golden.RequireEqual(t, m.plain())
}
