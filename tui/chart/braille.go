package chart

import "github.com/NimbleMarkets/ntcharts/v2/canvas/runes"

// Dots are kept as ntcharts' PatternDots, one a cell, rather than in its PatternDotsGrid, which makes all its rows anew
// whenever it is reset and again when its patterns are asked for.

// dotRows is how many levels a cell has in braille.
const dotRows = 4

// dotOf is where PatternDots keeps the dot of a column (0 left) and of a height in the cell (0 bottom).
var dotOf = [2][dotRows]int{{6, 2, 1, 0}, {7, 5, 4, 3}}

// dot sets one dot: column of the plot, level from its floor.
func (c *canvas) dot(col, level int) {
	row := c.rows - 1 - level/dotRows
	c.dots[row*c.cells+col/2][dotOf[col%2][level%dotRows]] = true
}

// brailleLine draws the envelope: every dot column from its least to its greatest value, and on to that of the column
// before it where they do not touch. A column with nothing joins nothing.
func (c *canvas) brailleLine(st Style) {
	clear(c.dots)
	levels := c.rows * dotRows
	have, prevLo, prevHi := false, 0, 0
	for col := -1; col < 2*c.cells; col++ {
		b := &c.bins[col+2*lead]
		if b.n == 0 {
			have = false
			continue
		}
		lo, hi := c.ruler.level(b.min, levels), c.ruler.level(b.max, levels)
		from, to := lo, hi
		if have && lo > prevHi+1 {
			from = prevHi
		}
		if have && hi < prevLo-1 {
			to = prevLo
		}
		have, prevLo, prevHi = true, lo, hi
		if col < 0 {
			continue
		}
		for l := from; l <= to; l++ {
			c.dot(col, l)
		}
	}
	c.paintDots(st)
}

// brailleImpulses draws bars of dots from the floor. A cell that holds one leaves out the base line, so that a red dot is
// never a measured nothing.
func (c *canvas) brailleImpulses() {
	clear(c.dots)
	levels := c.rows * dotRows
	for cell := range c.cells {
		left, right := c.pair(cell)
		hit := left.n > 0 && left.max > 0 || right.n > 0 && right.max > 0
		for side, b := range [2]*acc{left, right} {
			switch {
			case b.n == 0:
			case b.max > 0:
				// At least two dots high: without colour one dot would be the base line.
				for l := range max(c.ruler.level(b.max, levels), 1) + 1 {
					c.dot(2*cell+side, l)
				}
			case !hit:
				c.dot(2*cell+side, 0)
			}
		}
	}
	for cell := range c.cells {
		left, right := c.pair(cell)
		st := Trace
		if left.n > 0 && left.max > 0 || right.n > 0 && right.max > 0 {
			st = Bad
		}
		c.paintColumn(cell, st)
	}
}

func (c *canvas) paintDots(st Style) {
	for cell := range c.cells {
		c.paintColumn(cell, st)
	}
}

func (c *canvas) paintColumn(cell int, st Style) {
	for row := range c.rows {
		r := runes.BraillePatternFromPatternDots(c.dots[row*c.cells+cell])
		if r == runes.BrailleBlockOffset {
			continue
		}
		// Two traces in one cell: both keep their dots, the one drawn last gives the colour.
		if old := c.g.At(c.x+cell, c.y+row); old.Style == Second && runes.IsBraillePattern(old.Rune) {
			r = runes.CombineBraillePatterns(old.Rune, r)
		}
		c.set(cell, row, r, st)
	}
}
