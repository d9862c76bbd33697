package tui

import (
	"fmt"
	"io"
	"testing"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
)

// One frame at the design size: the records of a quarter of a second, the tick, the picture. The budget of the design is
// 1.5 ms a frame together with the terminal library, whose part is BenchmarkRender.
func BenchmarkFrame(b *testing.B) {
	for _, gl := range []chart.Glyphs{chart.Braille, chart.ASCII} {
		b.Run(gl.String(), func(b *testing.B) {
			m := newScene(b, 80, 24, gl)
			benchmarkFrame(b, m)
		})
	}
}

// The same on a large terminal, with everything that it has room for.
func BenchmarkFrameWide(b *testing.B) {
	for _, gl := range []chart.Glyphs{chart.Braille, chart.ASCII} {
		for _, cpus := range []int{8, 64} {
			b.Run(fmt.Sprintf("%v-%d", gl, cpus), func(b *testing.B) {
				benchmarkFrame(b, newHostScene(b, 200, 60, gl, cpus))
			})
		}
	}
}

func benchmarkFrame(b *testing.B, m *model) {
	f := *sceneRecords()[10].(*metric.Frame)
	b.ReportAllocs()
	at := float64(sceneEnd)
	for b.Loop() {
		for range 3 {
			at += 0.1
			g := f
			g.T = at
			m.records(recordsMsg{recs: []metric.Record{&g}, at: clockAt(at)})
		}
		m.Update(tickMsg(clockAt(at)))
		if v := m.View(); v.Content == "" {
			b.Fatal("no picture")
		}
	}
}

// What the terminal library makes of two pictures in turn: it reads them into cells and writes the difference.
func BenchmarkRender(b *testing.B) {
	one := newScene(b, 80, 24, chart.Braille)
	two := newScene(b, 80, 24, chart.Braille)
	two.tick(clockAt(sceneEnd + 3))
	pictures := []*uv.StyledString{uv.NewStyledString(one.content), uv.NewStyledString(two.content)}
	scr := uv.NewTerminalRenderer(io.Discard, []string{"TERM=xterm-256color"})
	cells := uv.NewScreenBuffer(80, 24)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		cells.Clear()
		pictures[i%2].Draw(cells, cells.Bounds())
		scr.Render(cells.RenderBuffer)
		if err := scr.Flush(); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

var _ tea.Model = (*model)(nil)
