package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tui/term"
)

// Run shows the screen until the user quits or ctx ends, and leaves the terminal as it was, also after a panic, which is
// returned as an error. Signals are the caller's: it ends ctx. The Bench stays open, so that the screen is gone at once
// and what is put back can be told afterwards; the Summary is for that.
func Run(ctx context.Context, c Config) (Summary, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	out := c.Out
	if out == nil {
		out = os.Stdout
	}
	w := term.NewWriter(out, c.interval(), c.Caps.Baud, nil)
	m := newModel(ctx, c)
	defer m.reader.Close()
	m.ready = w.Ready
	if c.Stuck != nil {
		go watchStuck(ctx, w, c.Stuck)
	}
	_, err := tea.NewProgram(m, m.options(ctx, w)...).Run()
	m.summary.finish(c.Bench, m.status.Spec)
	if ctx.Err() != nil && errors.Is(err, tea.ErrProgramKilled) && !errors.Is(err, tea.ErrProgramPanic) {
		err = nil
	}
	if err != nil {
		return m.summary, fmt.Errorf("screen: %w", err)
	}
	return m.summary, nil
}

func (m *model) options(ctx context.Context, w *term.Writer) []tea.ProgramOption {
	cols, rows := m.cfg.size()
	opts := []tea.ProgramOption{
		tea.WithContext(ctx), tea.WithOutput(w), tea.WithoutSignalHandler(), tea.WithColorProfile(m.profile()),
	}
	if m.cfg.In != nil {
		opts = append(opts, tea.WithInput(m.cfg.In))
	}
	if m.cfg.Env != nil {
		opts = append(opts, tea.WithEnvironment(m.cfg.Env))
	}
	if !m.cfg.Caps.TTY {
		opts = append(opts, tea.WithWindowSize(cols, rows))
	}
	return opts
}

// profile is what the terminal library may pass on. It is forced, so that it neither asks nor guesses: the grid has
// sixteen colours or, in mono, only bold, faint and reverse.
func (m *model) profile() colorprofile.Profile {
	if m.cfg.Caps.Colour == chart.Colour16 {
		return colorprofile.ANSI
	}
	return colorprofile.Ascii
}

// term is the terminal's name.
func (m *model) term() string {
	if m.cfg.Env == nil {
		return os.Getenv("TERM")
	}
	name := ""
	for _, e := range m.cfg.Env {
		if v, ok := strings.CutPrefix(e, "TERM="); ok {
			name = v
		}
	}
	return name
}

// watchStuck tells when the terminal stops taking bytes, and when it takes them again.
func watchStuck(ctx context.Context, w *term.Writer, tell func(stuck bool)) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	told := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if now := w.Stuck(StuckAfter); now != told {
			told = now
			tell(now)
		}
	}
}
