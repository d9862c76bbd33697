package chart

import "github.com/NimbleMarkets/ntcharts/v2/canvas/runes"

// steps is how many heights a cell has.
func (gl Glyphs) steps() int {
	switch gl {
	case Block:
		return 8
	case BlockLinux:
		return 2
	}
	return 1
}

// column fills a cell up to a height counted in the glyphs' steps.
func (c *canvas) column(cell, height int, st Style) {
	per := c.gl.steps()
	for row := c.rows - 1; row >= 0 && height > 0; row-- {
		c.set(cell, row, runes.LowerBlockElementFromFloat64(float64(min(height, per))/float64(per)), st)
		height -= per
	}
}

// floor marks a cell where something was measured that is too little for the least height: nothing is not no data.
func (c *canvas) floor(cell int) {
	r := rune('_')
	if c.gl == Block {
		r = runes.LowerBlockOne
	}
	c.set(cell, c.rows-1, r, Trace)
}

// blockLine fills every cell to its mean, or to its least or greatest value where that is a row or more outside the cell
// before, so that a short dip is not averaged away.
func (c *canvas) blockLine() {
	per := c.gl.steps()
	heights := float64(c.rows * per)
	have, prevLo, prevHi := false, 0, 0
	for cell := -1; cell < c.cells; cell++ {
		b := c.whole(cell)
		if b.n == 0 {
			have = false
			continue
		}
		h := int(c.ruler.frac(b.mean()) * heights)
		lo, hi := int(c.ruler.frac(b.min)*heights), int(c.ruler.frac(b.max)*heights)
		if up, down := hi-prevHi, prevLo-lo; have && max(up, down) >= per {
			h = hi
			if down > up {
				h = lo
			}
		}
		have, prevLo, prevHi = true, lo, hi
		if h == 0 {
			c.floor(cell)
			continue
		}
		c.column(cell, h, Trace)
	}
}

// impulses draws bars of blocks or of '|' from the floor, over a base line where nothing was lost.
func (c *canvas) impulses() {
	per := c.gl.steps()
	for cell := range c.cells {
		b := c.whole(cell)
		switch {
		case b.n == 0:
		case !(b.max > 0):
			c.floor(cell)
		case c.gl == ASCII:
			for row := range c.ruler.level(b.max, c.rows) + 1 {
				c.set(cell, c.rows-1-row, '|', Bad)
			}
		default:
			least := 1
			if c.gl == Block {
				least = 2 // One eighth is the base line.
			}
			c.column(cell, max(int(c.ruler.frac(b.max)*float64(c.rows*per)), least), Bad)
		}
	}
}
