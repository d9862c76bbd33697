package chart

import (
	"strings"
	"testing"
)

// TestGridText: whatever a peer or the kernel calls itself, it takes one cell a rune and moves no cursor.
func TestGridText(t *testing.T) {
	g := NewGrid(20, 1)
	if x := g.Text(0, 0, "a\x1b[2J\r\n漢́\u00ad\u200d→", Ink); x != 12 {
		t.Errorf("ends in column %d", x)
	}
	if got, want := g.String(), "a?[2J??????→"; got != want {
		t.Errorf("painted %q, want %q", got, want)
	}
	g.Reset(5, 1)
	if x := g.TextRight(4, 0, "1234567", Bold); x != -2 || g.String() != "34567" {
		t.Errorf("right-aligned text from column %d: %q", x, g.String())
	}
}

// TestGridBytes: one escape sequence a run, blanks carry no style, and a reversed row keeps its end.
func TestGridBytes(t *testing.T) {
	g := NewGrid(8, 3)
	g.Text(0, 0, "ab cd", Trace|Bold)
	g.Text(0, 2, "x", Bad)
	g.Fill(1, 2, 7, ' ', Reverse)
	for _, c := range []struct {
		colour Colour
		want   string
	}{
		{Colour16, "\x1b[1;32mab\x1b[m \x1b[1;32mcd\x1b[m\n\n\x1b[31mx\x1b[m\x1b[7m       \x1b[m"},
		{Mono, "\x1b[1mab\x1b[m \x1b[1mcd\x1b[m\n\nx\x1b[7m       \x1b[m"},
		{NoStyle, "ab cd\n\nx       "},
	} {
		if got := string(g.Bytes(c.colour)); got != c.want {
			t.Errorf("colour %d: %q, want %q", c.colour, got, c.want)
		}
	}
	if g.Set(8, 0, 'x', Ink); strings.Contains(g.String(), "cdx") || g.At(-1, 9) != (Cell{}) {
		t.Error("painted or read outside")
	}
}
