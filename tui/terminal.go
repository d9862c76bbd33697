package tui

import (
	"context"
	"io"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tui/term"
)

// terminal is what a screen is shown on, as its Config has it.
type terminal struct {
	caps term.Caps
	in   io.Reader // nil = the process's own terminal
	out  io.Writer // nil = standard output
	env  []string  // nil = the process's own environment
	fps  int
}

// interval is the time between two pictures.
func (t *terminal) interval() time.Duration {
	n := t.fps
	if n < 1 || n > 10 {
		n = frames
	}
	return time.Second / time.Duration(n)
}

// size is the terminal's size as far as it is known before it said so itself.
func (t *terminal) size() (cols, rows int) {
	if t.caps.Columns < 1 || t.caps.Rows < 1 {
		return eventCols, fullRows
	}
	return t.caps.Columns, t.caps.Rows
}

// writer paces what is sent to the terminal.
func (t *terminal) writer() *term.Writer {
	out := t.out
	if out == nil {
		out = os.Stdout
	}
	return term.NewWriter(out, t.interval(), t.caps.Baud, nil)
}

func (t *terminal) options(ctx context.Context, w *term.Writer) []tea.ProgramOption {
	cols, rows := t.size()
	opts := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithOutput(w), tea.WithoutSignalHandler(), tea.WithColorProfile(t.profile()),
	}
	if t.in != nil {
		opts = append(opts, tea.WithInput(t.in))
	}
	if t.env != nil {
		opts = append(opts, tea.WithEnvironment(t.env))
	}
	if !t.caps.TTY {
		opts = append(opts, tea.WithWindowSize(cols, rows))
	}
	return opts
}

// profile is what the terminal library may pass on. It is forced, so that it neither asks nor guesses: the grid has
// sixteen colours or, in mono, only bold, faint and reverse.
func (t *terminal) profile() colorprofile.Profile {
	if t.caps.Colour == chart.Colour16 {
		return colorprofile.ANSI
	}
	return colorprofile.Ascii
}

// settle is the command that has a console drawn anew which shows parts of what it does not understand; nil for others.
func (t *terminal) settle() tea.Cmd {
	name := t.name()
	if name != "linux" && !strings.HasPrefix(name, "vt1") && !strings.HasPrefix(name, "vt2") {
		return nil
	}
	return tea.Tick(settleTerminal, func(time.Time) tea.Msg { return settledMsg{} })
}

// name is the terminal's TERM.
func (t *terminal) name() string {
	if t.env == nil {
		return os.Getenv("TERM")
	}
	name := ""
	for _, e := range t.env {
		if v, ok := strings.CutPrefix(e, "TERM="); ok {
			name = v
		}
	}
	return name
}
