package chart

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/charmbracelet/x/exp/golden"
)

// session is what the three charts of the 80x24 screen show: a lab at 30 Gbit/s, segmentation offload off from mark 1 to
// mark 2.
type session struct {
	bandwidth, jitter, loss *Series
	w                       Window
}

const sessionEnd = 1000 - 0.05 // The last cell is full.

func newSession(cells int, perDot float64) *session {
	s := &session{bandwidth: NewSeries(36000), jitter: NewSeries(36000), loss: NewSeries(36000)}
	s.w = Window{Now: sessionEnd, PerDot: perDot, Cells: cells}
	cell := 2 * perDot
	one, two := 1000-float64(cells*43/72)*cell, 1000-float64(cells*27/72)*cell
	s.w.Marks = []Mark{{one, "1"}, {two, "2"}}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 10000 {
		t := float64(i) / 10
		rate, jitter, loss := 30.4e9+0.3e9*r.NormFloat64(), 4.1e-6*math.Exp(0.08*r.NormFloat64()), 0.0
		if t >= one && t < two {
			rate, jitter = 7.4e9+0.05e9*r.NormFloat64(), 21.6e-6*math.Exp(0.1*r.NormFloat64())
			if r.IntN(60) == 0 {
				loss = 0.5 * float64(1+r.IntN(4))
			}
		} else if r.IntN(250) == 0 {
			loss = 0.5
		}
		s.bandwidth.Add(t, rate)
		s.jitter.Add(t, jitter)
		s.loss.Add(t, loss)
	}
	return s
}

// charts are the plots of a screen with their heights.
type charts struct {
	plots [3]Plot
	rows  [3]int
}

func newCharts(s *session, rows ...int) *charts {
	c := &charts{plots: [3]Plot{
		{Series: s.bandwidth, Scale: &Scale{Unit: BitRate}},
		{Series: s.jitter, Scale: &Scale{Unit: Seconds, Log: true}},
		{Series: s.loss, Kind: Impulse, Scale: &Scale{Unit: Percent}},
	}}
	copy(c.rows[:], rows)
	return c
}

// paint draws titles, plots and axis, as a screen does.
func (c *charts) paint(g *Grid, w *Window, gl Glyphs) {
	y := 0
	for i := range c.plots {
		p := &c.plots[i]
		p.Paint(g, 0, y+1, c.rows[i], w, gl)
		w.Lines(g, Margin, y, gl)
		_, v, _ := p.Series.Measured()
		g.TextRight(15, y, p.Scale.Number(v), Bold)
		g.Text(17, y, gl.Text(p.Scale.UnitText()), Ink)
		y += 1 + c.rows[i]
	}
	TimeAxis(g, 0, y, w, gl)
}

func (c *charts) height() int { return 4 + c.rows[0] + c.rows[1] + c.rows[2] }

func (c *charts) grid(w *Window, gl Glyphs) *Grid {
	g := NewGrid(Margin+w.Cells+1, c.height())
	c.paint(g, w, gl)
	return g
}

var levels = []Glyphs{Braille, Block, BlockLinux, ASCII}

// TestScreens are the three charts at the sizes of the layouts.
func TestScreens(t *testing.T) {
	for _, size := range []struct {
		name  string
		cells int
		rows  []int
	}{{"80x24", 72, []int{5, 3, 2}}, {"60x16", 52, []int{4, 1, 1}}, {"120x40", 64, []int{7, 5, 3}}, {"200x60", 100, []int{13, 9, 5}}, {"narrow", 9, []int{3, 1, 1}}} {
		for _, gl := range levels {
			t.Run(size.name+"-"+gl.String(), func(t *testing.T) {
				s := newSession(size.cells, 1)
				golden.RequireEqual(t, newCharts(s, size.rows...).grid(&s.w, gl).Bytes(NoStyle))
			})
		}
	}
}

// TestColour keeps the roles: green traces, red losses, words in the terminal's own ink.
func TestColour(t *testing.T) {
	s := newSession(72, 1)
	s.w.Cursor = s.w.Marks[0].T
	g := newCharts(s, 5, 3, 2).grid(&s.w, Braille)
	t.Run("16", func(t *testing.T) { golden.RequireEqual(t, g.Bytes(Colour16)) })
	t.Run("mono", func(t *testing.T) { golden.RequireEqual(t, g.Bytes(Mono)) })
}

// TestSituations are single plots of what can happen.
func TestSituations(t *testing.T) {
	fill := func(s *Series, from, to, v float64) {
		for i := int(from * 10); i < int(to*10); i++ {
			s.Add(float64(i)/10, v)
		}
	}
	cases := []struct {
		name string
		make func() (*Plot, Window)
	}{
		{"empty", func() (*Plot, Window) {
			return &Plot{Series: NewSeries(100), Scale: &Scale{Unit: BitRate}}, Window{Now: 99.9, Cells: 40}
		}},
		{"starting", func() (*Plot, Window) {
			s := NewSeries(1000)
			fill(s, 90, 100, 941e6)
			return &Plot{Series: s, Scale: &Scale{Unit: BitRate}}, Window{Now: 99.9, Cells: 40}
		}},
		{"gaps", func() (*Plot, Window) {
			s := NewSeries(10000)
			fill(s, 0, 30, 900e6)
			fill(s, 54, 60, 900e6)
			s.Add(60, math.NaN())
			fill(s, 64, 70, 300e6)
			return &Plot{Series: s, Scale: &Scale{Unit: BitRate}}, Window{Now: 99.9, Cells: 40, Marks: []Mark{{40, "1"}, {64, "2"}}}
		}},
		{"zero", func() (*Plot, Window) {
			s := NewSeries(10000)
			fill(s, 0, 50, 900e6)
			fill(s, 50, 100, 0)
			return &Plot{Series: s, Scale: &Scale{Unit: BitRate}}, Window{Now: 99.9, Cells: 40}
		}},
		{"spikes", func() (*Plot, Window) {
			s := NewSeries(10000)
			for i := range 1000 {
				v := 4e-6
				if i%170 == 60 {
					v = 2e-3
				}
				s.Add(float64(i)/10, v)
			}
			return &Plot{Series: s, Scale: &Scale{Unit: Seconds, Log: true}}, Window{Now: 99.9, Cells: 40}
		}},
		{"two traces", func() (*Plot, Window) {
			s, s2 := NewSeries(10000), NewSeries(10000)
			fill(s, 0, 100, 900e6)
			fill(s2, 0, 60, 300e6)
			fill(s2, 60, 100, 950e6)
			return &Plot{Series: s, Second: s2, Scale: &Scale{Unit: BitRate}}, Window{Now: 99.9, Cells: 40}
		}},
		{"cursor and marks", func() (*Plot, Window) {
			s := NewSeries(10000)
			fill(s, 0, 100, 900e6)
			w := Window{Now: 99.9, Cells: 40, Cursor: 50}
			for i := range 13 {
				w.Marks = append(w.Marks, Mark{25 + 6*float64(i), fmt.Sprint(i + 1)})
			}
			return &Plot{Series: s, Scale: &Scale{Unit: BitRate}}, w
		}},
		{"scrolled back", func() (*Plot, Window) {
			s := NewSeries(10000)
			fill(s, 0, 50, 900e6)
			fill(s, 50, 100, 300e6)
			return &Plot{Series: s, Scale: &Scale{Unit: BitRate}}, Window{Now: 99.9, Back: 30, Cells: 40}
		}},
		{"tenths", func() (*Plot, Window) {
			s := NewSeries(10000)
			for i := range 1000 {
				// The sampler is up to 40 ms late, and sometimes a sample is missing.
				if i%50 != 7 {
					s.Add(float64(i)/10+0.04*float64(i%3)/2, 5e6+4e6*math.Sin(float64(i)/9))
				}
			}
			return &Plot{Series: s, Scale: &Scale{Unit: BitRate}}, Window{Now: 99.9, PerDot: 0.1, Cells: 60}
		}},
		{"minutes", func() (*Plot, Window) {
			s := NewSeries(36000)
			for i := range 80000 {
				v := 941e6
				if i%9000 == 4000 {
					v = 100e6
				}
				s.Add(float64(i)/10, v)
			}
			return &Plot{Series: s, Scale: &Scale{Unit: BitRate}}, Window{Now: 7999.9, PerDot: 60, Cells: 72, Marks: []Mark{{4000, "7"}}}
		}},
		{"heat", func() (*Plot, Window) {
			s := NewSeries(10000)
			for i := 300; i < 1000; i++ {
				if i < 600 || i > 700 {
					s.Add(float64(i)/10, float64(i-300)/7)
				}
			}
			return &Plot{Series: s, Kind: Heat, Label: "cpu0"}, Window{Now: 99.9, Cells: 40, Marks: []Mark{{50, "1"}}}
		}},
	}
	for _, c := range cases {
		for _, gl := range levels {
			t.Run(c.name+"-"+gl.String(), func(t *testing.T) {
				p, w := c.make()
				g := NewGrid(Margin+w.Cells, 6)
				p.Paint(g, 0, 0, 5, &w, gl)
				TimeAxis(g, 0, 5, &w, gl)
				golden.RequireEqual(t, g.Bytes(NoStyle))
			})
		}
	}
}
