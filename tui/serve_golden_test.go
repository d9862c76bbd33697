package tui

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/charmbracelet/x/exp/golden"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
)

func TestGoldenServeSizes(t *testing.T) {
	for _, tt := range []struct {
		cols, rows int
		gl         chart.Glyphs
	}{
		{80, 24, chart.Braille}, {80, 24, chart.Block}, {80, 24, chart.ASCII}, {120, 40, chart.Braille}, {200, 60, chart.Braille},
		{60, 16, chart.ASCII}, {40, 10, chart.Braille}, {40, 10, chart.ASCII}, {36, 5, chart.ASCII},
	} {
		t.Run(fmt.Sprintf("%dx%d-%v", tt.cols, tt.rows, tt.gl), func(t *testing.T) {
			golden.RequireEqual(t, newServeScene(t, tt.cols, tt.rows, tt.gl).plain())
		})
	}
}

func TestGoldenServeStates(t *testing.T) {
	for _, tt := range []struct {
		name       string
		cols, rows int
		do         func(m *serveModel)
	}{
		{"nobody", 80, 24, func(m *serveModel) { *m = *newServeBare(t, 80, 24, chart.Braille); m.tick(clockAt(4)) }},
		{"ask-end", 80, 24, func(m *serveModel) { pressServe(m, "down", "k") }},
		{"ask-end-small", 60, 16, func(m *serveModel) { pressServe(m, "down", "k") }},
		{"ask-end-least", 40, 10, func(m *serveModel) { pressServe(m, "down", "k") }},
		{"ask-end-large", 200, 60, func(m *serveModel) { pressServe(m, "down", "k") }},
		{"ending", 80, 24, func(m *serveModel) { pressServe(m, "down", "k", "y") }},
		{"ended", 80, 24, func(m *serveModel) {
			pressServe(m, "down", "k", "y")
			g := *serveVisitors()[2].at(179.5, 1795)
			g.Event, g.Reason = "out", "the operator of the server ended the session"
			m.records(recordsMsg{recs: []metric.Record{&g}, at: clockAt(180)})
		}},
		{"not-ended", 80, 24, func(m *serveModel) {
			pressServe(m, "down", "k", "y")
			m.kicked(kickedMsg{3, errors.New("stream to agent lost")})
		}},
		{"ask-quit", 80, 24, func(m *serveModel) { pressServe(m, "q") }},
		{"help", 80, 24, func(m *serveModel) { pressServe(m, "?") }},
		{"frozen", 80, 24, func(m *serveModel) { pressServe(m, "p"); m.tick(clockAt(181)) }},
		{"silent", 80, 24, func(m *serveModel) {
			for at := 181.0; at < 205; at++ {
				m.tick(clockAt(at))
			}
		}},
		{"lost", 80, 24, func(m *serveModel) { m.lose(io.EOF) }},
		{"full", 80, 24, func(m *serveModel) {
			for id := 10; id < 90; id++ {
				m.records(recordsMsg{recs: []metric.Record{&metric.Guest{ID: id, Event: "in", Dialect: "native",
					Peer: fmt.Sprintf("10.1.0.%d:4000", id), Time: clockAt(180)}}, at: clockAt(180)})
			}
			pressServe(m, "end", "up")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newServeScene(t, tt.cols, tt.rows, chart.Braille)
			tt.do(m)
			m.paint()
			golden.RequireEqual(t, m.plain())
		})
	}
}

// The same picture with its colours, and without them.
func TestGoldenServeColour(t *testing.T) {
	m := newServeScene(t, 80, 24, chart.Braille)
	for name, c := range map[string]chart.Colour{"sixteen": chart.Colour16, "mono": chart.Mono} {
		t.Run(name, func(t *testing.T) { golden.RequireEqual(t, string(m.grid.Bytes(c))) })
	}
}
