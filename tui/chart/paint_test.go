package chart

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/NimbleMarkets/ntcharts/v2/canvas/runes"
)

// TestMotion keeps the picture still: as samples come in, only the newest cell of a plot changes, and when it is full
// everything left of it moves by exactly one cell.
func TestMotion(t *testing.T) {
	for _, perDot := range []float64{0.1, 0.5, 1, 2} {
		for _, gl := range levels {
			s := newSession(72, perDot)
			all := [3][]float64{}
			for i, from := range []*Series{s.bandwidth, s.jitter, s.loss} {
				all[i] = from.Range(nil, 0, 1e9)
			}
			live := [3]*Series{NewSeries(36000), NewSeries(36000), NewSeries(36000)}
			c := newCharts(&session{bandwidth: live[0], jitter: live[1], loss: live[2]}, 5, 3, 2)
			var before *Grid
			var beforeCell int64
			for n := range all[0] {
				now := float64(n) / 10
				for i := range live {
					live[i].Add(now, all[i][n])
				}
				w := Window{Now: now, PerDot: perDot, Cells: 72}
				if n < 9700 {
					continue
				}
				if n == 9700 {
					c.grid(&w, gl) // The scales have made up their minds.
				}
				for i := range c.plots {
					c.plots[i].Scale.Lock = true
				}
				g := c.grid(&w, gl)
				shift := int(w.lastCell() - beforeCell)
				if before != nil {
					if shift != 0 && shift != 1 {
						t.Fatalf("%v a dot: moved by %d cells between two samples", perDot, shift)
					}
					compare(t, before, g, shift, c, gl)
				}
				before, beforeCell = g, w.lastCell()
			}
		}
	}
}

// compare checks all cells of the plots but the newest.
func compare(t *testing.T, before, after *Grid, shift int, c *charts, gl Glyphs) {
	t.Helper()
	y := 0
	for i := range c.plots {
		for row := y + 1; row <= y+c.rows[i]; row++ {
			for x := Margin; x < Margin+71-shift; x++ {
				a, b := before.At(x+shift, row), after.At(x, row)
				if sign := gl.signs().dot; a.Rune == sign || b.Rune == sign {
					continue // The grid stands still while data moves over it.
				}
				if a != b {
					t.Fatalf("%s: cell %d of row %d was %q, is %q", gl, x-Margin, row, a.Rune, b.Rune)
				}
			}
		}
		y += 1 + c.rows[i]
	}
}

// FuzzPaint gives a plot any samples, window and rectangle: it never panics, and paints nothing outside.
func FuzzPaint(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, 99.9, 0.0, 1.0, 50.0, 72, 5, uint8(0))
	f.Add([]byte("\x7f\xf0\x00\x00\x00\x00\x00\x00\x7f\xf8\x00\x00\x00\x00\x00\x01"), math.Inf(1), math.NaN(), 1e-300, -1.0, 1, 1, uint8(0xff))
	f.Add([]byte("\xff\xef\xff\xff\xff\xff\xff\xff\x7f\xef\xff\xff\xff\xff\xff\xff"), 1e300, 1e300, 1e300, math.NaN(), -3, 300, uint8(0x35))
	f.Add([]byte{}, math.NaN(), -1e9, math.Inf(1), 0.0, 4096, 2, uint8(9))
	f.Fuzz(func(t *testing.T, raw []byte, now, back, perDot, at float64, cells, rows int, how uint8) {
		s, s2 := NewSeries(64), NewSeries(16)
		for i := 0; i+8 <= len(raw) && i < 1024; i += 8 {
			v := math.Float64frombits(binary.BigEndian.Uint64(raw[i:]))
			s.Add(now-float64(i)/80, v)
			s.Add(float64(i)/80, v)
			s2.Add(v, at)
		}
		cells, rows = cells%300, rows%60
		w := Window{Now: now, Back: back, PerDot: perDot, Cells: cells, Cursor: at, Marks: []Mark{{at, "1"}, {now, "23"}, {back, ""}}}
		p := Plot{
			Series: s, Second: s2, Kind: Kind(how & 3), Label: "cpu0 µ\x1b",
			Scale: &Scale{Unit: Unit(how >> 2 & 7), Log: how&32 != 0, Lock: how&64 != 0},
		}
		width, height := max(cells, 0), max(rows, 0)
		g := NewGrid(width+Margin+8, height+8)
		for y := range height + 8 {
			g.Fill(0, y, width+Margin+8, '#', Warn)
		}
		for range 2 {
			p.Paint(g, 3, 4, rows, &w, Glyphs(how>>5))
			if height > 0 {
				TimeAxis(g, 3, 4+height-1, &w, Glyphs(how>>5))
			}
		}
		for y := range height + 8 {
			for x := range width + Margin + 8 {
				if inside := x >= 3 && x < 3+Margin+width && y >= 4 && y < 4+height; !inside && g.At(x, y) != (Cell{'#', Warn}) {
					t.Fatalf("painted %q at %d,%d, outside of %dx%d", g.At(x, y).Rune, x, y, width+Margin, height)
				}
			}
		}
		for _, text := range []string{p.Scale.Number(at), Number(now), NumberLoss(back)} {
			if Width(text) > numberCells {
				t.Fatalf("%q is wider than %d cells", text, numberCells)
			}
		}
	})
}

// BenchmarkFrame builds and paints the three plots of the 80x24 screen with ten samples a second. Its budget is 0.2 ms.
func BenchmarkFrame(b *testing.B) {
	for _, gl := range levels {
		b.Run(gl.String(), func(b *testing.B) {
			s := newSession(72, 1)
			c := newCharts(s, 5, 3, 2)
			g := NewGrid(80, 24)
			b.ReportAllocs()
			for b.Loop() {
				g.Reset(80, 24)
				y := 0
				for i := range c.plots {
					c.plots[i].Paint(g, 0, y+1, c.rows[i], &s.w, gl)
					y += 1 + c.rows[i]
				}
				TimeAxis(g, 0, y, &s.w, gl)
			}
		})
	}
}

// BenchmarkFrameWide is the widest view: a minute a dot over an hour of samples and more of seconds.
func BenchmarkFrameWide(b *testing.B) {
	s := newSession(72, 60)
	c := newCharts(s, 5, 3, 2)
	for i := 10000; i < 90000; i++ {
		t := float64(i) / 10
		s.bandwidth.Add(t, 30e9)
		s.jitter.Add(t, 4e-6)
		s.loss.Add(t, 0)
	}
	s.w.Now = 8999.9
	g := NewGrid(80, 24)
	b.ReportAllocs()
	for b.Loop() {
		c.paint(g, &s.w, Braille)
	}
}

// BenchmarkBytes writes out the 80x24 screen.
func BenchmarkBytes(b *testing.B) {
	s := newSession(72, 1)
	g := NewGrid(80, 24)
	newCharts(s, 5, 3, 2).paint(g, &s.w, Braille)
	b.ReportAllocs()
	for b.Loop() {
		b.SetBytes(int64(len(g.Bytes(Colour16))))
	}
}

// BenchmarkPatternDotsGrid is the same dots through ntcharts' grid, to keep the reason for our own in sight.
func BenchmarkPatternDotsGrid(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		for _, rows := range []int{5, 3, 2} {
			g := runes.NewPatternDotsGrid(144, rows*dotRows)
			for x := range 144 {
				g.Set(x, x%(rows*dotRows))
			}
			g.BraillePatterns()
		}
	}
}

// BenchmarkPatternDots is the same dots through ours.
func BenchmarkPatternDots(b *testing.B) {
	g := NewGrid(72, 5)
	dots := make([]runes.PatternDots, 72*5)
	b.ReportAllocs()
	for b.Loop() {
		for _, rows := range []int{5, 3, 2} {
			c := canvas{g: g, cells: 72, rows: rows, dots: dots[:72*rows]}
			clear(c.dots)
			for x := range 144 {
				c.dot(x, x%(rows*dotRows))
			}
			c.paintDots(Trace)
		}
	}
}

// The newest cell of a heat row is blank while its reading may still come, and a dot once it is missing.
func TestHeatAwaitsReading(t *testing.T) {
	s := NewSeries(minKeep)
	s.Every = 1
	for i := range 10 {
		s.Add(float64(i)+0.5, 50)
	}
	p := Plot{Series: s, Kind: Heat}
	for _, c := range []struct {
		now  float64
		want rune
	}{{9.6, '-'}, {10.2, 0}, {11.9, 0}, {13, '.'}} {
		g := NewGrid(Margin+10, 1)
		w := Window{Now: c.now, Cells: 10}
		cell, _ := w.Column(min(c.now, 11.9))
		p.Paint(g, 0, 0, 1, &w, ASCII)
		if got := g.At(Margin+cell, 0).Rune; got != c.want {
			t.Errorf("at %g s: %q, want %q", c.now, got, c.want)
		}
	}
}
