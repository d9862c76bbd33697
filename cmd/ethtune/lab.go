package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/ethtune/ethtune/tui"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tui/term"
	"github.com/ethtune/ethtune/tune/rig"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// screenFlags is the flags of the commands with a screen beside those of the traffic.
type screenFlags struct {
	traffic
	look
	reach reach
}

// look is how the screen is drawn.
type look struct {
	glyphs, color string
	fps           int
	plain         bool
}

func (l *look) add(f *pflag.FlagSet) {
	f.StringVar(&l.glyphs, "glyphs", "auto", "`signs`: braille, block, block-linux or ascii; auto asks the locale and TERM")
	f.StringVar(&l.color, "color", "auto", "`when` to use colour: auto, always or never; NO_COLOR is honoured")
	f.IntVar(&l.fps, "fps", 0, "`frames` a second, 1 to 10; 0 = 4, fewer on a slow line")
	f.BoolVar(&l.plain, "plain", false, "no screen, lines only")
}

func labCommand() *cobra.Command {
	f := screenFlags{}
	c := &cobra.Command{
		Use:   "lab",
		Short: "A bench on this machine: two network namespaces, traffic between them, and the screen",
		Long: `A bench on this machine: two network namespaces, traffic between them, and the screen.
It needs no root where the host permits user namespaces, and leaves nothing behind.
Where standard output is no terminal, or TERM=dumb, it prints lines like "ethtune run lab -t 0".`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c, labTarget) },
	}
	f.traffic.add(c.Flags())
	f.look.add(c.Flags())
	c.Flags().SortFlags = false
	return c
}

func tuneCommand() *cobra.Command {
	f := screenFlags{}
	c := &cobra.Command{
		Use:   "tune HOST[:PORT]",
		Short: "The screen, against ethtune serve, iperf3 -s or iperf -s on another host",
		Long: `The screen, against ethtune serve, iperf3 -s or iperf -s on another host; which one it is is found out.
It turns the knobs of this host and of the interface towards the other, and puts them back when it ends.
What may cut the link it does not turn. Without the right to turn knobs it shows them and measures.`,
		Example: `  ethtune tune 192.168.1.20             # ethtune serve, iperf3 -s or iperf -s there
  ethtune tune board -u -b 400M -R`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("tune needs one host: ethtune tune HOST (or, on this machine alone: ethtune lab)")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	f.traffic.add(c.Flags())
	f.reach.add(c.Flags())
	f.look.add(c.Flags())
	c.Flags().SortFlags = false
	return c
}

func (f *screenFlags) run(c *cobra.Command, name string) error {
	spec, err := f.traffic.spec()
	if err != nil {
		return err
	}
	t := target{name: labTarget}
	if name != labTarget {
		if t, err = f.reach.find(c.Context(), name, f.ipv4, f.ipv6); err != nil {
			return err
		}
	}
	out, _ := c.OutOrStdout().(*os.File)
	caps := term.Detect(os.Getenv, out)
	if err := f.look.override(&caps); err != nil {
		return err
	}
	if f.plain || !caps.TTY || os.Getenv("TERM") == "dumb" {
		o := runOptions{target: t, spec: spec, ipv6: f.ipv6, interval: defaultInterval}
		if err := leftovers(c.Context(), c.ErrOrStderr(), false); err != nil {
			return err
		}
		return headless(c.Context(), o, &textPrinter{w: c.OutOrStdout()})
	}
	if err := offer(c.Context(), c.InOrStdin(), c.OutOrStdout()); err != nil {
		return err
	}
	b, err := t.open(c.Context(), f.ipv6)
	if err != nil {
		return err
	}
	return screen(c.Context(), b, tui.Config{
		Bench: b, Keep: b.Keep, Spec: spec, Title: t.name, Caps: caps, FPS: f.fps, Lasting: t.lasting(),
	}, c.OutOrStdout())
}

// override puts what the flags say over what was found out.
func (f *look) override(caps *term.Caps) error {
	if f.glyphs != "auto" {
		g, err := chart.ParseGlyphs(f.glyphs)
		if err != nil {
			return usage("--glyphs %q: auto, braille, block, block-linux or ascii", f.glyphs)
		}
		caps.Glyphs = g
	}
	switch f.color {
	case "auto":
	case "always":
		caps.Colour = chart.Colour16
	case "never":
		caps.Colour = chart.Mono
	default:
		return usage("--color %q: auto, always or never", f.color)
	}
	if f.fps < 0 || f.fps > 10 {
		return usage("--fps %d: 1 to 10, or 0", f.fps)
	}
	return nil
}

// screen starts the load, shows the screen until it ends, puts everything back and says so.
func screen(ctx context.Context, b *rig.Bench, c tui.Config, out io.Writer) error {
	c.Stuck = deadMan(ctx, b)
	c.Feed = b.Watch("screen") // before the load, whose first notes belong to the picture
	_, err := b.Drive(ctx, c.Spec)
	var sum tui.Summary
	if err == nil {
		sum, err = tui.Run(ctx, c)
	} else {
		err = unlessEnded(ctx, err)
	}
	back, closeErr := closeBench(ctx, b)
	if sum.Ran > 0 {
		// A terminal that hung up takes nothing any more, which is no failure.
		_, _ = io.WriteString(out, tui.Farewell(sum, back, closeErr, c.Caps.Glyphs))
	}
	return errors.Join(err, closeErr)
}

// deadMan stops the load while the terminal takes nothing: nobody sees what it does to the host, and the session may ride
// on the interface that it fills.
func deadMan(ctx context.Context, b *rig.Bench) func(stuck bool) {
	return func(stuck bool) {
		// An error is a lost agent, which ends the screen by itself.
		if stuck {
			_ = b.Pause(ctx)
		} else {
			_ = b.ResumeAtHalf(ctx)
		}
	}
}
