package term

import (
	"os"
	"testing"

	"github.com/ethtune/ethtune/tui/chart"
)

func environ(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestDetectEnvironment(t *testing.T) {
	for _, c := range []struct {
		name   string
		env    func(string) string
		glyphs chart.Glyphs
		colour chart.Colour
	}{
		{"nothing set", environ(), chart.ASCII, chart.Mono},
		{"xterm", environ("TERM", "xterm-256color", "LANG", "en_US.UTF-8"), chart.Braille, chart.Colour16},
		{"tmux with utf8", environ("TERM", "tmux", "LANG", "de_DE.utf8"), chart.Braille, chart.Colour16},
		{"C.UTF-8", environ("TERM", "screen", "LC_CTYPE", "C.UTF-8"), chart.Braille, chart.Colour16},
		{"UTF-8 with a modifier", environ("TERM", "xterm", "LANG", "ca_ES.UTF-8@valencia"), chart.Braille, chart.Colour16},
		{"latin 1", environ("TERM", "xterm", "LANG", "de_DE.ISO-8859-1"), chart.ASCII, chart.Colour16},
		{"LC_ALL wins", environ("TERM", "xterm", "LC_ALL", "C", "LANG", "en_US.UTF-8"), chart.ASCII, chart.Colour16},
		{"LC_CTYPE before LANG", environ("TERM", "xterm", "LC_CTYPE", "en_GB.UTF-8", "LANG", "C"), chart.Braille, chart.Colour16},
		{"Linux console", environ("TERM", "linux", "LANG", "en_US.UTF-8"), chart.BlockLinux, chart.Colour16},
		{"Linux console without UTF-8", environ("TERM", "linux", "LANG", "C"), chart.ASCII, chart.Colour16},
		{"vt100", environ("TERM", "vt100", "LANG", "en_US.UTF-8"), chart.ASCII, chart.Mono},
		{"vt220 on a serial line", environ("TERM", "vt220", "LANG", "C"), chart.ASCII, chart.Mono},
		{"vte is no vt", environ("TERM", "vte-256color", "LANG", "en_US.UTF-8"), chart.Braille, chart.Colour16},
		{"dumb", environ("TERM", "dumb", "LANG", "en_US.UTF-8"), chart.ASCII, chart.Mono},
		{"NO_COLOR", environ("TERM", "xterm", "LANG", "en_US.UTF-8", "NO_COLOR", "1"), chart.Braille, chart.Mono},
		{"empty NO_COLOR does not count", environ("TERM", "xterm", "LANG", "en_US.UTF-8", "NO_COLOR", ""), chart.Braille, chart.Colour16},
		{"Japanese", environ("TERM", "xterm", "LANG", "ja_JP.UTF-8"), chart.ASCII, chart.Colour16},
		{"Chinese", environ("TERM", "xterm", "LANG", "zh_CN.UTF-8"), chart.ASCII, chart.Colour16},
		{"Konkani is not Korean", environ("TERM", "xterm", "LANG", "kok_IN.UTF-8"), chart.Braille, chart.Colour16},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Detect(c.env, nil)
			if got.Glyphs != c.glyphs || got.Colour != c.colour {
				t.Errorf("got %v and colour %d, want %v and %d", got.Glyphs, got.Colour, c.glyphs, c.colour)
			}
		})
	}
}

func TestDetectSize(t *testing.T) {
	for _, c := range []struct {
		columns, lines string
		wantC, wantR   int
	}{
		{"", "", 80, 24},
		{"132", "43", 132, 43},
		{"132", "", 132, 24},
		{"-1", "0", 80, 24},
		{"many", "99999999", 80, maxSide},
		{"99999999999999999999", "1", 80, 1},
	} {
		got := Detect(environ("COLUMNS", c.columns, "LINES", c.lines), nil)
		if got.Columns != c.wantC || got.Rows != c.wantR || got.TTY || got.Baud != 0 {
			t.Errorf("COLUMNS=%q LINES=%q: got %+v, want %dx%d", c.columns, c.lines, got, c.wantC, c.wantR)
		}
	}
}

func TestDetectFile(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got := Detect(environ(), f); got.TTY || got.Columns != 80 || got.Rows != 24 || got.Baud != 0 {
		t.Errorf("a regular file: got %+v", got)
	}
}

// FuzzDetect keeps any environment from being believed too far.
func FuzzDetect(f *testing.F) {
	f.Add("linux", "en_US.UTF-8", "80", "24")
	f.Add("vt", ".utf8", "-0", "1e9")
	f.Fuzz(func(t *testing.T, term, lang, columns, lines string) {
		c := Detect(environ("TERM", term, "LANG", lang, "COLUMNS", columns, "LINES", lines), nil)
		if c.Columns < 1 || c.Columns > maxSide || c.Rows < 1 || c.Rows > maxSide {
			t.Fatalf("size %dx%d", c.Columns, c.Rows)
		}
	})
}
