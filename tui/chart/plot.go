package chart

import "github.com/NimbleMarkets/ntcharts/v2/canvas/runes"

// Margin is the width left of every plot: 5 cells of label, a space and the axis.
const Margin = numberCells + 2

// Kind is how a plot shows its values.
type Kind uint8

// The kinds.
const (
	Line    Kind = iota // min-max envelope with the steps joined; filled where there are only blocks
	Impulse             // the greatest, from the floor, in red, over a base line where something was measured
	Heat                // one row of shades for 0 to 100, the mean
)

// Plot draws a series. It keeps its buffers, so use one Plot for one place on the screen. It belongs to one goroutine.
type Plot struct {
	Series *Series
	Second *Series // another trace behind the first, for Line; or nil
	Kind   Kind
	Scale  *Scale // not for Heat
	Label  string // for Heat: the name in the margin, at most 5 cells

	bins, bins2 []acc // dot columns, from lead cells left of the plot on
	dots        []runes.PatternDots
}

// maxRows bounds the height of a plot, as maxCells does its width.
const maxRows = 1024

// lead is how many cells left of the plot are looked at as well: held ASCII levels start anew every lead cells, at
// multiples of it, so that a cell looks the same wherever it has scrolled to.
const lead = 64

// canvas is one plot being painted: the rectangle without its margin, and what all that draw into it need.
type canvas struct {
	g       *Grid
	x, y    int
	cells   int
	rows    int
	first   int64   // absolute index of the leftmost cell
	perCell float64 // s
	gl      Glyphs
	signs   *signs
	ruler   ruler
	bins    []acc // two a cell, the first of them lead cells left of the rectangle
	dots    []runes.PatternDots
}

// set paints cell c of row r, 0 being the top.
func (c *canvas) set(cell, row int, r rune, st Style) {
	if cell >= 0 && cell < c.cells && row >= 0 && row < c.rows {
		c.g.Set(c.x+cell, c.y+row, r, st)
	}
}

// pair are the two bins of a cell, which may be up to lead cells left of the rectangle.
func (c *canvas) pair(cell int) (left, right *acc) {
	i := 2 * (cell + lead)
	return &c.bins[i], &c.bins[i+1]
}

// whole is what a cell holds.
func (c *canvas) whole(cell int) acc {
	left, right := c.pair(cell)
	a := *left
	a.merge(right)
	return a
}

// Paint draws the plot with its margin into the cells x to x+Margin+w.Cells-1 and y to y+rows-1 of g, and nowhere else.
// It fits the scale to what is in view first, so write a title that names the unit afterwards.
//
// Data wins over the mark lines, they win over the grid and over heat, and the cursor wins over all.
func (p *Plot) Paint(g *Grid, x, y, rows int, w *Window, gl Glyphs) {
	rows = min(rows, maxRows)
	if rows <= 0 || p.Series == nil {
		return
	}
	c := canvas{g: g, x: x + Margin, y: y, cells: w.cells(), rows: rows, gl: gl, signs: gl.signs(), perCell: 2 * w.perDot()}
	c.first = w.lastCell() + 1 - int64(c.cells)
	p.bins = gather(p.bins, p.Series, &c, w)
	c.bins = p.bins

	if p.Kind == Heat {
		c.rows = 1
		p.heatMargin(&c)
		p.heat(&c, w.Now)
		c.lines(w)
		c.cursor(w)
		return
	}
	scale := p.Scale
	if scale == nil {
		scale = &Scale{}
	}
	if p.Second != nil && p.Kind != Impulse {
		p.bins2 = gather(p.bins2, p.Second, &c, w)
		fit(scale, w, p.bins[2*lead:], p.bins2[2*lead:])
	} else {
		fit(scale, w, p.bins[2*lead:], nil)
	}
	c.ruler = scale.ruler()
	c.margin(scale)
	c.lines(w)
	p.trace(&c)
	c.noData(p.Series)
	c.cursor(w)
}

// gather bins a series for the plot and the cells left of it.
func gather(dst []acc, s *Series, c *canvas, w *Window) []acc {
	n := 2 * (c.cells + lead)
	if cap(dst) < n {
		dst = make([]acc, n)
	}
	dst = dst[:n]
	s.bins(dst, 2*(c.first-lead), w.perDot())
	return dst
}

// fit gives the scale what is in view. The lower end is that of the means: one lucky sample must not cost a decade.
func fit(s *Scale, w *Window, bins, second []acc) {
	var view acc
	for _, list := range [2][]acc{bins, second} {
		for i := range list {
			if b := &list[i]; b.n > 0 {
				view.merge(&acc{min: b.mean(), max: b.max, n: 1})
			}
		}
	}
	if view.n > 0 {
		s.Fit(w.Now, view.min, view.max)
	}
}

// trace draws the values.
func (p *Plot) trace(c *canvas) {
	if c.gl == Braille {
		n := c.cells * c.rows
		if cap(p.dots) < n {
			p.dots = make([]runes.PatternDots, n)
		}
		c.dots = p.dots[:n]
	}
	switch {
	case p.Kind == Impulse && c.gl == Braille:
		c.brailleImpulses()
	case p.Kind == Impulse:
		c.impulses()
	case c.gl == Braille:
		p.behind(c, func() { c.brailleLine(Second) })
		c.brailleLine(Trace)
	case c.gl == Block, c.gl == BlockLinux:
		c.blockLine()
		// Filled cells would hide it: here it is in front.
		p.behind(c, func() { c.asciiLine(Second, true) })
	default:
		p.behind(c, func() { c.asciiLine(Second, true) })
		c.asciiLine(Trace, false)
	}
}

// behind draws the second trace, if there is one.
func (p *Plot) behind(c *canvas, draw func()) {
	if p.Second == nil {
		return
	}
	c.bins = p.bins2
	draw()
	c.bins = p.bins
}

// margin paints labels, axis and grid dots.
func (c *canvas) margin(s *Scale) {
	for row := range c.rows {
		c.g.Set(c.x-1, c.y+row, c.signs.axis, Ink)
	}
	labels := labelRows(c.rows)
	for i := range labels {
		row := i * (c.rows - 1) / max(labels-1, 1)
		f := 1 - float64(i)/float64(max(labels-1, 1))
		var b [32]byte
		text := s.appendTick(b[:0], f)
		if len(text) == 0 {
			continue
		}
		for j, ch := range text {
			if at := numberCells - len(text) + j; at >= 0 {
				c.g.Set(c.x-Margin+at, c.y+row, rune(ch), Ink)
			}
		}
		c.g.Set(c.x-1, c.y+row, c.signs.tick, Ink)
		if c.rows >= 5 && i > 0 && i < labels-1 {
			for cell := 1; cell < c.cells; cell += 4 {
				c.set(cell, row, c.signs.dot, Faint)
			}
		}
	}
}

// labelRows is how many rows carry a label: the ends, the middle where it is the centre of a row, the quarters where
// there is room.
func labelRows(rows int) int {
	switch {
	case rows == 1:
		return 1
	case rows%2 == 0:
		return 2
	case rows >= 9 && rows%4 == 1:
		return 5
	}
	return 3
}

// lines paints the mark lines through all rows.
func (c *canvas) lines(w *Window) {
	for i := range w.Marks {
		if cell, ok := w.Column(w.Marks[i].T); ok {
			for row := range c.rows {
				c.set(cell, row, c.signs.mark, Ink)
			}
		}
	}
}

func (c *canvas) cursor(w *Window) {
	for row := range c.rows {
		w.cursor(c.g, c.x, c.y+row, c.signs)
	}
}

// noDataCells is from how many empty cells on a gap says what it is.
const noDataCells = 9

// noData names the gaps. The words stand at the start of a gap, where they stay while it grows. The time before the first
// sample is no gap, except that a plot without any says so too.
func (c *canvas) noData(s *Series) {
	oldest, any := s.oldest()
	start := 0
	for cell := 0; cell <= c.cells; cell++ {
		if cell < c.cells {
			if left, right := c.pair(cell); left.n+right.n == 0 {
				continue
			}
		}
		if cell-start >= noDataCells && (!any || start > 0 || float64(c.first)*c.perCell > oldest) {
			c.g.Text(c.x+start, c.y+c.rows/2, " no data ", Faint)
		}
		start = cell + 1
	}
}
