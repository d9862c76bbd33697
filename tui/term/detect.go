package term

import (
	"os"
	"strconv"
	"strings"

	"github.com/ethtune/ethtune/tui/chart"
)

// Caps is what a terminal is and can show.
type Caps struct {
	TTY     bool
	Glyphs  chart.Glyphs
	Colour  chart.Colour // Colour16 or Mono
	Columns int          // at least 1
	Rows    int          // at least 1
	Baud    int          // bit/s of a serial line; 0 where there is none or it is not known
}

// The size of a terminal that does not know its own: what a serial console has always been.
const (
	defaultColumns = 80
	defaultRows    = 24
	maxSide        = 4096 // A size from the environment or the kernel is believed up to here.
)

// Detect finds out about the terminal behind out, which may be nil or no terminal. env is os.Getenv.
func Detect(env func(string) string, out *os.File) Caps {
	c := Caps{Glyphs: glyphs(env), Colour: colour(env)}
	if out != nil {
		c.Columns, c.Rows, c.TTY = winsize(out)
		if c.TTY {
			c.Baud = baud(out)
		}
	}
	c.Columns = side(c.Columns, env("COLUMNS"), defaultColumns)
	c.Rows = side(c.Rows, env("LINES"), defaultRows)
	return c
}

// side is one side of the screen: the kernel's word, else the environment's, else the default.
func side(kernel int, env string, fallback int) int {
	if kernel > 0 {
		return min(kernel, maxSide)
	}
	if n, err := strconv.Atoi(env); err == nil && n > 0 {
		return min(n, maxSide)
	}
	return fallback
}

// glyphs chooses by locale and TERM. East Asian locales get ASCII because their fonts draw µ, ±, → and box lines two cells
// wide (Unicode's ambiguous width).
func glyphs(env func(string) string) chart.Glyphs {
	locale := strings.ToLower(locale(env))
	language, charset, _ := strings.Cut(locale, ".")
	if !strings.HasPrefix(charset, "utf-8") && !strings.HasPrefix(charset, "utf8") {
		return chart.ASCII
	}
	for _, wide := range []string{"zh", "ja", "ko"} {
		if language == wide || strings.HasPrefix(language, wide+"_") {
			return chart.ASCII
		}
	}
	term := env("TERM")
	switch {
	case plain(term):
		return chart.ASCII
	case term == "linux" || strings.HasPrefix(term, "linux-"):
		return chart.BlockLinux
	}
	return chart.Braille
}

// locale is the one in force for characters, in the order of POSIX (XBD 8.2).
func locale(env func(string) string) string {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := env(name); v != "" {
			return v
		}
	}
	return ""
}

// colour follows no-color.org and the terminals that have none.
func colour(env func(string) string) chart.Colour {
	if env("NO_COLOR") != "" || plain(env("TERM")) {
		return chart.Mono
	}
	return chart.Colour16
}

// plain says whether TERM names a terminal without colours and line drawing that can be relied on: none at all, dumb, and
// DEC's vt52 to vt525, which serial consoles claim to be.
func plain(term string) bool {
	if term == "" || term == "dumb" || term == "unknown" {
		return true
	}
	rest, ok := strings.CutPrefix(term, "vt")
	return ok && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}
