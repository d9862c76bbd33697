package chart

import (
	"fmt"
	"strings"
)

// Glyphs is the set of signs a terminal and its font can show. The zero value is [Braille].
type Glyphs uint8

// The glyph levels, finest first. Their order is that of the key that cycles through them.
const (
	Braille    Glyphs = iota // 2x4 dots a cell
	Block                    // ▁▂▃▄▅▆▇█, filled
	BlockLinux               // ▄ and █ only: the font of the Linux console
	ASCII                    // one byte a sign, for serial lines, vt terminals and locales that make µ two cells wide
)

// String is the name of the level as the --glyphs flag takes it.
func (gl Glyphs) String() string {
	switch gl {
	case Braille:
		return "braille"
	case Block:
		return "block"
	case BlockLinux:
		return "block-linux"
	}
	return "ascii"
}

// ParseGlyphs is the level of that name.
func ParseGlyphs(name string) (Glyphs, error) {
	for gl := Braille; gl <= ASCII; gl++ {
		if gl.String() == name {
			return gl, nil
		}
	}
	return ASCII, fmt.Errorf("no glyphs %q: want braille, block, block-linux or ascii", name)
}

// toASCII and toConsole are made once: a replacer is safe for use by several goroutines.
var (
	toASCII = strings.NewReplacer(
		"µ", "u", "μ", "u", "±", "+-", "→", "->", "×", "x", "–", "-", "−", "-", "▸", ">", "●", "*", "·", "-",
		"│", "|", "┊", ":", "┤", "+", "├", "+", "└", "+", "─", "-", "━", "=", "▏", "|",
		"░", ".", "▒", "-", "▓", "=", "█", "#", "…", "~", "≤", "<=", "≥", ">=")
	// The console's default font is code page 437, which has µ ± → · and the box lines but not these.
	toConsole = strings.NewReplacer("×", "x", "–", "-", "−", "-", "▸", ">", "●", "*", "┊", ":", "━", "─", "…", "~", "▏", "│")
)

// Text gives s the signs that can be shown. ASCII forms may be longer than what they stand for (± is +-), so lay out
// columns for ASCII, and call Text before measuring.
func (gl Glyphs) Text(s string) string {
	switch gl {
	case ASCII:
		return toASCII.Replace(s)
	case BlockLinux:
		return toConsole.Replace(s)
	}
	return s
}

// signs are the single cells a chart is built of.
type signs struct {
	axis, tick, corner, rule, mark, cursor, dot rune
	heat                                        [5]rune // 0-20-40-60-80 %
}

var signsOf = [...]signs{
	Braille:    {'│', '┤', '└', '─', '┊', '│', '⠐', [5]rune{' ', '░', '▒', '▓', '█'}},
	Block:      {'│', '┤', '└', '─', '┊', '│', '·', [5]rune{' ', '░', '▒', '▓', '█'}},
	BlockLinux: {'│', '┤', '└', '─', ':', '│', '·', [5]rune{' ', '░', '▒', '▓', '█'}},
	ASCII:      {'|', '+', '+', '-', ':', '|', '.', [5]rune{' ', '.', '-', '=', '#'}},
}

func (gl Glyphs) signs() *signs {
	if int(gl) >= len(signsOf) {
		gl = ASCII
	}
	return &signsOf[gl]
}
