package tui

import (
	"context"
	"errors"
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ethtune/ethtune/tui/term"
)

// Run shows the screen until the user quits or ctx ends, and leaves the terminal as it was, also after a panic, which is
// returned as an error. Signals are the caller's: it ends ctx. The Bench stays open, so that the screen is gone at once
// and what is put back can be told afterwards; the Summary is for that.
func Run(ctx context.Context, c Config) (Summary, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	m := newModel(ctx, c)
	defer m.reader.Close()
	w := m.terminal.writer()
	m.ready = w.Ready
	if c.Stuck != nil {
		go watchStuck(ctx, w, c.Stuck)
	}
	err := show(ctx, m, m.terminal.options(ctx, w))
	m.summary.finish(c.Bench, m.status.Spec)
	return m.summary, err
}

// show runs a program until it ends by itself or by ctx, which is no error.
func show(ctx context.Context, m tea.Model, opts []tea.ProgramOption) error {
	_, err := tea.NewProgram(m, opts...).Run()
	if err == nil || ctx.Err() != nil && errors.Is(err, tea.ErrProgramKilled) && !errors.Is(err, tea.ErrProgramPanic) {
		return nil
	}
	return fmt.Errorf("screen: %w", err)
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
