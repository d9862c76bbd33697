package tui

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tui/pane"
	"github.com/ethtune/ethtune/tui/term"
)

// ServeConfig is what the screen of a server is started with.
type ServeConfig struct {
	Host    string             // this one's name
	Serving []metric.Listening // what it answers, and what it could not
	Most    int                // guests at once
	Once    bool               // the screen ends when the first guest has left

	// Feed is a reader of the server's guests that was made before it began to serve, so that the screen misses nobody.
	// RunServe closes it.
	Feed *metric.Reader
	// Kick ends the session of the guest of that id. The guest's leaving comes with the Feed.
	Kick func(ctx context.Context, id int) error

	// Caps is what the terminal can show; its zero value is braille in sixteen colours at 80x24.
	Caps term.Caps

	In  io.Reader // keys; nil = the process's own terminal
	Out io.Writer // the terminal; nil = standard output
	Env []string  // see [Config]
	FPS int       // see [Config]
}

func (c *ServeConfig) terminal() terminal { return terminal{c.Caps, c.In, c.Out, c.Env, c.FPS} }

// RunServe shows who takes part in a server's tests until the user quits, ctx ends or, with Once, the first guest has
// left. It leaves the terminal as it was, with the end of the log below, also after a panic, which is returned as an error; so is a server that was lost.
// Signals are the caller's: it ends ctx. The server stays open, and is the caller's to close.
func RunServe(ctx context.Context, c ServeConfig) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer c.Feed.Close()
	m := newServeModel(ctx, c)
	w := m.terminal.writer()
	m.ready = w.Ready
	if err := show(ctx, m, m.terminal.options(ctx, w)); err != nil {
		return err
	}
	// A terminal that hung up takes nothing any more, which is no failure.
	_, _ = io.WriteString(w, m.farewell())
	return m.lost
}

// farewellRows bounds what stays of the log.
const farewellRows = 20

// farewell is what stays on the terminal after the screen: how long it was, and the end of the log. It is plain text with
// a line end, and empty where nobody came.
func (m *serveModel) farewell() string {
	if m.visits.Came == 0 {
		return ""
	}
	sessions := "1 session"
	if m.visits.Came != 1 {
		sessions = fmt.Sprintf("%d sessions", m.visits.Came)
	}
	g := chart.NewGrid(max(m.cols, leastCols), min(m.visits.Len(), farewellRows)+1)
	w, h := g.Size()
	m.visits.Draw(pane.Brush{Grid: g, Glyphs: m.glyphs}, pane.Rect{X: 1, W: w - 2, H: h})
	return fmt.Sprintf(" ethtune  serve   ran %s   %s\n\n%s\n", lasted(time.Since(m.began)), sessions, g)
}
