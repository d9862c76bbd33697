package tui

import (
	"context"
	"io"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/term"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
)

// Config is what the screen is started with.
type Config struct {
	Bench *rig.Bench  // what is looked at and turned; the caller closes it afterwards
	Spec  metric.Spec // the load that was asked for
	Title string      // whom the traffic goes to: "lab", a host name

	// Feed is a reader of Bench.Watch that was made before the load was started, so that the screen misses nothing of it;
	// nil = from now on. Run closes it.
	Feed *metric.Reader

	// Caps is what the terminal can show; its zero value is braille in sixteen colours at 80x24.
	Caps term.Caps

	In  io.Reader // keys; nil = the process's own terminal
	Out io.Writer // the terminal; nil = standard output
	// Env is what the terminal library learns TERM from; nil = the process's own environment.
	Env []string
	// FPS is how often the picture is drawn in a second, 4 unless 1 to 10. A line that cannot take that gets fewer.
	FPS int
	// Stuck, if set, is called with true when the terminal has taken no byte for [StuckAfter], because then nobody sees
	// what the load does, and with false when it takes bytes again. The calls come one after the other, beside the screen.
	Stuck func(stuck bool)

	// Lasting are the sides whose settings outlive the run unless they are put back; nil = the host alone, as in a lab,
	// whose namespaces go with it.
	Lasting []knob.Side
	// Keep, if set, keeps the settings that the user wants to outlive the run: closing the Bench does not put them back.
	// Each has the value the kernel has now. It is called at most once at a time. Without it nothing is asked on quit and
	// all is put back.
	Keep func(ctx context.Context, keep []knob.Setting) error
}

// StuckAfter is how long the terminal may take no byte before [Config.Stuck] is called.
const StuckAfter = 5 * time.Second

// Times of the screen.
const (
	frames = 4 // a second; more costs processor time that the traffic needs
	// silence is how long no Frame may come before the other end counts as lost.
	silence = 3 * time.Second
	// settleTerminal is when a console with a weak parser is drawn anew: by then it has stumbled over what the terminal
	// library sends first, and over nothing since.
	settleTerminal = 300 * time.Millisecond
)

func (c *Config) terminal() terminal { return terminal{c.Caps, c.In, c.Out, c.Env, c.FPS} }

func (c *Config) lasting() []knob.Side {
	if c.Lasting == nil {
		return []knob.Side{knob.Host}
	}
	return c.Lasting
}
