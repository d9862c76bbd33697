package chart

import (
	"strings"
	"sync"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
)

// Style is how a cell looks: one colour role and attributes. Colours say what a thing means, never which chart it is;
// words keep [Ink]. The zero Style is the terminal's own ink.
type Style uint8

// Colour roles (of the sixteen colours, never a background) and attributes. Add them up.
const (
	Ink    Style = 0
	Trace  Style = 1 // green: the measured thing
	Bad    Style = 2 // red: lost, failed, refused
	Warn   Style = 3 // yellow: worse, pending, adjusted
	Good   Style = 4 // cyan: better, the cursor
	Second Style = 5 // magenta: the other trace

	roleMask Style = 7

	Bold    Style = 1 << 3
	Faint   Style = 1 << 4
	Reverse Style = 1 << 5
)

// theme is what each role looks like in the sixteen colours that every terminal lets its user choose.
var theme = [8]lipgloss.Style{
	Trace:  lipgloss.NewStyle().Foreground(lipgloss.Green),
	Bad:    lipgloss.NewStyle().Foreground(lipgloss.Red),
	Warn:   lipgloss.NewStyle().Foreground(lipgloss.Yellow),
	Good:   lipgloss.NewStyle().Foreground(lipgloss.Cyan),
	Second: lipgloss.NewStyle().Foreground(lipgloss.Magenta),
}

// inks are the escape sequences that switch each Style on, taken from the theme once: a style a cell is what makes other
// charts slow.
var inks = sync.OnceValue(func() (out [1 << 6]string) {
	for i := range out {
		s := Style(i)
		look := theme[s&roleMask].Bold(s&Bold != 0).Faint(s&Faint != 0).Reverse(s&Reverse != 0)
		out[i], _, _ = strings.Cut(look.Render("x"), "x")
	}
	return out
})

// plain switches every Style off.
const plain = "\x1b[m"

// Cell is one place of a Grid. The zero rune is a blank.
type Cell struct {
	Rune  rune
	Style Style
}

// Grid is a screen or a part of one that is painted cell by cell and written out with one escape sequence a run.
// It is reused from frame to frame; painting allocates nothing. Every rune is taken to be one cell wide, so [Grid.Text]
// replaces what is not. Painting outside the grid is cut off.
type Grid struct {
	w, h  int
	cells []Cell
	buf   []byte
}

// NewGrid returns a blank grid of w columns and h rows.
func NewGrid(w, h int) *Grid {
	g := &Grid{}
	g.Reset(w, h)
	return g
}

// Reset makes the grid blank and w by h.
func (g *Grid) Reset(w, h int) {
	g.w, g.h = max(w, 0), max(h, 0)
	n := g.w * g.h
	if cap(g.cells) < n {
		g.cells = make([]Cell, n)
	}
	g.cells = g.cells[:n]
	clear(g.cells)
}

// Size returns columns and rows.
func (g *Grid) Size() (w, h int) { return g.w, g.h }

// Set paints one cell.
func (g *Grid) Set(x, y int, r rune, s Style) {
	if x >= 0 && x < g.w && y >= 0 && y < g.h {
		g.cells[y*g.w+x] = Cell{r, s}
	}
}

// At returns the cell at x, y; the zero Cell outside.
func (g *Grid) At(x, y int) Cell {
	if x < 0 || x >= g.w || y < 0 || y >= g.h {
		return Cell{}
	}
	return g.cells[y*g.w+x]
}

// Text paints s from column x on and returns the column after it. Control characters, and runes that are not one cell
// wide, become '?', so that a name the kernel or a peer gives cannot break the screen.
func (g *Grid) Text(x, y int, s string, st Style) int {
	for _, r := range s {
		g.Set(x, y, Printable(r), st)
		x++
	}
	return x
}

// TextRight paints s so that it ends in column right, and returns its first column.
func (g *Grid) TextRight(right, y int, s string, st Style) int {
	x := right + 1 - Width(s)
	g.Text(x, y, s, st)
	return x
}

// Fill gives n cells from x on the rune r and the style st.
func (g *Grid) Fill(x, y, n int, r rune, st Style) {
	for i := range n {
		g.Set(x+i, y, r, st)
	}
}

// Restyle gives n cells from x on the style st and keeps their runes.
func (g *Grid) Restyle(x, y, n int, st Style) {
	for i := range n {
		if c := g.At(x+i, y); x+i < g.w {
			g.Set(x+i, y, c.Rune, st)
		}
	}
}

// Width is how many cells s takes on a Grid.
func Width(s string) int {
	n := 0
	for range s {
		n++
	}
	return n
}

// Printable returns r, or '?' where it is not one visible cell.
func Printable(r rune) rune {
	switch {
	case r >= ' ' && r < 0x7f, r >= 0xa0 && r < 0x300 && r != 0xad: // A soft hyphen has no width of its own.
		return r
	case r >= 0x2010 && r < 0x2028, r >= 0x2190 && r < 0x2300, r >= 0x2500 && r < 0x2614, r >= 0x2800 && r < 0x2900:
		return r
	}
	return '?'
}

// Colour says how much of a Style is written.
type Colour uint8

// The colour levels.
const (
	Colour16 Colour = iota // roles and attributes
	Mono                   // bold, faint and reverse only
	NoStyle                // plain text, for a golden file
)

// Bytes returns the grid as lines, without a line end after the last. The bytes are good until the next call.
func (g *Grid) Bytes(c Colour) []byte {
	b, ink := g.buf[:0], inks()
	for y := range g.h {
		if y > 0 {
			b = append(b, '\n')
		}
		row := g.cells[y*g.w : (y+1)*g.w]
		end := len(row)
		for end > 0 && (row[end-1].Rune == 0 || row[end-1].Rune == ' ') && row[end-1].Style&Reverse == 0 {
			end--
		}
		var cur Style
		for _, cell := range row[:end] {
			st := cell.Style
			if c != Colour16 {
				st &^= roleMask
			}
			if cell.Rune == 0 || cell.Rune == ' ' {
				st &= Reverse
			}
			if c != NoStyle && st != cur {
				if cur != 0 {
					b = append(b, plain...)
				}
				b = append(b, ink[st]...)
				cur = st
			}
			r := cell.Rune
			if r == 0 {
				r = ' '
			}
			b = utf8.AppendRune(b, r)
		}
		if cur != 0 {
			b = append(b, plain...)
		}
	}
	g.buf = b
	return b
}

// String is the grid without styles, for goldens and for reading a test's failure.
func (g *Grid) String() string { return string(g.Bytes(NoStyle)) }
