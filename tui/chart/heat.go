package chart

// heat paints one row of shades, a step every 20 %. What was not measured is a dot, since blank is 0 to 20 %, and so is
// what may still be measured.
func (p *Plot) heat(c *canvas, now float64) {
	oldest, any := p.Series.oldest()
	end := now // of what must have been measured
	if newest, v, ok := p.Series.Last(); ok && v == v && now-newest <= 2.5*p.Series.every() {
		end = newest
	}
	for cell := range c.cells {
		b, begin := c.whole(cell), float64(c.first+int64(cell))*c.perCell
		switch {
		case b.n > 0:
			i := int(min(max(b.mean()/20, 0), 4))
			c.set(cell, 0, c.signs.heat[i], Trace)
		case any && begin > oldest && begin <= end:
			c.set(cell, 0, c.signs.dot, Faint)
		}
	}
}

// heatMargin paints the name and the axis.
func (p *Plot) heatMargin(c *canvas) {
	at := numberCells - min(Width(p.Label), numberCells)
	for _, r := range p.Label {
		if at == numberCells {
			break
		}
		c.g.Set(c.x-Margin+at, c.y, Printable(r), Ink)
		at++
	}
	c.g.Set(c.x-1, c.y, c.signs.axis, Ink)
}
