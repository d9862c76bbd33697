package tui

import (
	"context"
	"fmt"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tune/knob"
)

// What the host does, where there is room for it, in every set of signs and with few and many processors.
func TestGoldenWide(t *testing.T) {
	for _, tt := range []struct {
		cols, rows, cpus int
		gl               chart.Glyphs
	}{
		{120, 40, 4, chart.Braille}, {120, 40, 4, chart.Block}, {120, 40, 4, chart.BlockLinux}, {120, 40, 4, chart.ASCII},
		{120, 40, 1, chart.Braille}, {120, 40, 64, chart.Braille}, {120, 30, 4, chart.Braille},
		{200, 60, 8, chart.Braille}, {200, 60, 8, chart.BlockLinux}, {200, 60, 8, chart.ASCII},
		{200, 60, 1, chart.Braille}, {200, 60, 64, chart.ASCII}, {180, 30, 64, chart.Braille},
	} {
		t.Run(fmt.Sprintf("%dx%d-%d-%v", tt.cols, tt.rows, tt.cpus, tt.gl), func(t *testing.T) {
			golden.RequireEqual(t, newHostScene(t, tt.cols, tt.rows, tt.gl, tt.cpus).plain())
		})
	}
}

// The host is not on the screen of the design size: what it measured changes nothing there.
func TestDesignSizeWithoutHost(t *testing.T) {
	with := newHostScene(t, 80, 24, chart.Braille, 4)
	without := newScene(t, 80, 24, chart.Braille)
	with.status = without.status // The share of the processors differs.
	with.paint()
	if a, b := with.plain(), without.plain(); a != b {
		t.Errorf("with a host:\n%s\nwithout:\n%s", a, b)
	}
}

func TestGoldenWideColour(t *testing.T) {
	m := newHostScene(t, 200, 60, chart.Braille, 8)
	for name, c := range map[string]chart.Colour{"sixteen": chart.Colour16, "mono": chart.Mono} {
		t.Run(name, func(t *testing.T) { golden.RequireEqual(t, string(m.grid.Bytes(c))) })
	}
}

func TestGoldenWideStates(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, m *model)
	}{
		{"frozen", func(t *testing.T, m *model) { press(t, m, "1", "p", "left") }},
		{"silent", func(t *testing.T, m *model) { m.tick(clockAt(sceneEnd + 30)) }},
		{"question", func(t *testing.T, m *model) {
			feed(m, hostMark(3, backlog, "1000", "5")...)
			press(t, m, "q")
		}},
		{"udp-drops", func(t *testing.T, m *model) {
			feed(m, mark(3, "engine.protocol", "tcp", "udp", "udp", knob.Applied)...)
			m.status.Spec.Proto = metric.UDP
			for i := range 40 {
				at := sceneEnd + float64(i+1)/10
				feed(m, udpFrame(at))
			}
			m.tick(clockAt(sceneEnd + 4))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newHostScene(t, 200, 60, chart.Braille, 8)
			m.cfg.Keep = func(context.Context, []knob.Setting) error { return nil }
			tt.do(t, m)
			m.paint()
			golden.RequireEqual(t, m.plain())
		})
	}
}

// With a peer that answers no probe the kernel's own figures of TCP stand where jitter and loss do otherwise.
func TestGoldenStock(t *testing.T) {
	for _, tt := range []struct {
		cols, rows int
		gl         chart.Glyphs
	}{
		{80, 24, chart.Braille}, {80, 24, chart.Block}, {80, 24, chart.BlockLinux}, {80, 24, chart.ASCII},
		{120, 40, chart.Braille}, {60, 16, chart.Braille}, {40, 10, chart.ASCII}, {38, 5, chart.Braille},
	} {
		t.Run(fmt.Sprintf("%dx%d-%v", tt.cols, tt.rows, tt.gl), func(t *testing.T) {
			golden.RequireEqual(t, newStockScene(t, tt.cols, tt.rows, tt.gl).plain())
		})
	}
	m := newStockScene(t, 80, 24, chart.Braille)
	for name, c := range map[string]chart.Colour{"sixteen": chart.Colour16, "mono": chart.Mono} {
		t.Run(name, func(t *testing.T) { golden.RequireEqual(t, string(m.grid.Bytes(c))) })
	}
	t.Run("turned-to-udp", func(t *testing.T) {
		m.cfg.Bench.Near.(*fakeRig).set("engine.protocol", "udp")
		m.states(readStates(context.Background(), m.cfg.Bench))
		for i := range 30 {
			feed(m, udpFrame(sceneEnd+float64(i+1)/10))
		}
		m.tick(clockAt(sceneEnd + 3))
		golden.RequireEqual(t, m.plain())
	})
}
