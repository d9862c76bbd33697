package chart

// thirds are the signs for the lower, middle and upper third of a row.
var thirds = [3]rune{'.', '-', '\''}

// barThirds is from how many thirds on a spike is drawn as a bar; a step has to be more.
const barThirds = 3

// asciiLine draws levels of a third of a row. A level is held until the value is a full third away from it, so that noise
// does not flicker, and through a spike that starts from it. Spikes and steps are bars. Dotted leaves every other cell
// out and draws no bars: the second trace.
func (c *canvas) asciiLine(st Style, dotted bool) {
	levels := 3 * c.rows
	have, held := false, 0
	prevLo, prevHi := 0, 0 // what the cell before covered
	for cell := -lead; cell < c.cells; cell++ {
		if (c.first+int64(cell))%lead == 0 {
			have = false
		}
		b := c.whole(cell)
		if b.n == 0 {
			have = false
			continue
		}
		pos := c.ruler.frac(b.mean()) * float64(levels)
		lo, hi := c.ruler.level(b.min, levels), c.ruler.level(b.max, levels)
		spike := hi-lo >= barThirds && lo <= held && held <= hi
		joined := have
		if !have || !spike && (pos < float64(held-1) || pos >= float64(held+2)) {
			held = min(int(pos), levels-1)
		}
		have = true

		from, to := held, held
		if hi >= held+barThirds {
			to = hi
		}
		if lo <= held-barThirds {
			from = lo
		}
		covers := [2]int{from, to}
		if joined && from > prevHi+barThirds {
			from = prevHi + 1
		}
		if joined && to < prevLo-barThirds {
			to = prevLo - 1
		}
		prevLo, prevHi = covers[0], covers[1]

		switch {
		case cell < 0 || dotted && (c.first+int64(cell))%2 != 0:
		case dotted || from == to:
			c.set(cell, c.rows-1-held/3, thirds[held%3], st)
		default:
			for row := from / 3; row <= to/3; row++ {
				c.set(cell, c.rows-1-row, '|', st)
			}
		}
	}
}
