package chart

import "strconv"

// TimeAxis paints the one axis row under stacked plots, x being the first column of their margin: rule, labels relative
// to Now, and the numbers of the marks. Labels stand still while time goes by. A label within two cells of a mark's
// number is left out. Numbers are bold and never hidden by anything but a newer number that they would touch.
func TimeAxis(g *Grid, x, y int, w *Window, gl Glyphs) {
	s, n := gl.signs(), w.cells()
	x += Margin
	g.Set(x-1, y, s.corner, Ink)
	g.Fill(x, y, n, s.rule, Ink)
	a := axis{g: g, x: x, y: y, w: w, n: n}
	right := n // what labels must stay left of
	if back := w.backCells(); back == 0 && a.label(n-len("now"), n, []byte("now")) {
		right = n - len("now")
	}
	a.labels(right)
	a.numbers()
}

type axis struct {
	g    *Grid
	x, y int
	w    *Window
	n    int
}

// labelSteps are the distances of labels in seconds; whole minutes and hours are written in these.
var labelSteps = [...]float64{
	0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 28800, 86400,
}

// labelCells is the least distance of labels.
const labelCells = 10

// labels paints the times, oldest first, because the first one painted carries the unit. All end before column right.
func (a *axis) labels(right int) {
	cell := 2 * a.w.perDot()
	step := labelSteps[len(labelSteps)-1]
	for _, s := range labelSteps {
		if s/cell >= labelCells-1e-9 {
			step = s
			break
		}
	}
	size, unit := 1.0, " s"
	switch {
	case step >= 3600:
		size, unit = 3600, " h"
	case step >= 60:
		size, unit = 60, " min"
	}
	back := a.w.backCells()
	end := -1 // last column of the label before
	for k := int(float64(int64(a.n)+back) * cell / step); k >= 1; k-- {
		col := int64(a.n) + back - int64(float64(k)*step/cell+0.5)
		if col >= int64(a.n) {
			break
		}
		var buf [48]byte
		b := append(buf[:0], '-')
		b = strconv.AppendFloat(b, float64(int64(float64(k)*step/size*10+0.5))/10, 'f', -1, 64)
		if end < 0 {
			b = append(b, unit...)
		}
		start := int(col) - len(b)/2
		if start-1 <= end || start < 1 || start+len(b) >= right-1 {
			continue
		}
		if a.label(start, right, b) {
			end = start + len(b)
		}
	}
}

// label paints b with a blank on both sides, and says whether it did: not where a mark's number would be within two
// cells, nor where it does not fit left of the column right.
func (a *axis) label(start, right int, b []byte) bool {
	if start < 1 || start+len(b) > right {
		return false
	}
	for i := range a.w.Marks {
		m := &a.w.Marks[i]
		if c, ok := a.w.Column(m.T); ok && m.Label != "" {
			c = a.numberStart(c, m.Label)
			if c <= start+len(b)+1 && c+Width(m.Label) >= start-1 {
				return false
			}
		}
	}
	a.g.Set(a.x+start-1, a.y, ' ', Ink)
	for i, ch := range b {
		a.g.Set(a.x+start+i, a.y, rune(ch), Ink)
	}
	if start+len(b) < a.n {
		a.g.Set(a.x+start+len(b), a.y, ' ', Ink)
	}
	return true
}

// numberStart is where a number that belongs to column c begins so that it ends within the plot.
func (a *axis) numberStart(c int, label string) int {
	return max(min(c, a.n-Width(label)), 0)
}

// numbers paints the marks' numbers, the newest first; an older one that would touch it is left out, since 1 and 2 side
// by side read as 12.
func (a *axis) numbers() {
	left := a.n + 1
	for i := len(a.w.Marks) - 1; i >= 0; i-- {
		m := &a.w.Marks[i]
		c, ok := a.w.Column(m.T)
		if !ok || m.Label == "" {
			continue
		}
		c = a.numberStart(c, m.Label)
		width := Width(m.Label)
		if c+width >= left || width > a.n {
			continue
		}
		a.g.Text(a.x+c, a.y, m.Label, Bold)
		left = c
	}
}
