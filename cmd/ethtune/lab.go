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
)

// labFlags is the flags of lab beside those of the traffic.
type labFlags struct {
	traffic
	glyphs, color string
	fps           int
	plain         bool
}

func labCommand() *cobra.Command {
	f := labFlags{}
	c := &cobra.Command{
		Use:   "lab",
		Short: "A bench on this machine: two network namespaces, traffic between them, and the screen",
		Long: `A bench on this machine: two network namespaces, traffic between them, and the screen.
It needs no root where the host permits user namespaces, and leaves nothing behind.
Where standard output is no terminal, or TERM=dumb, it prints lines like "ethtune run lab -t 0".`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	f.traffic.add(c.Flags())
	c.Flags().StringVar(&f.glyphs, "glyphs", "auto", "braille, block, block-linux or ascii; `auto` asks the locale and TERM")
	c.Flags().StringVar(&f.color, "color", "auto", "`auto`, always or never; NO_COLOR is honoured")
	c.Flags().IntVar(&f.fps, "fps", 0, "frames `a second`, 1 to 10; 0 = 4, fewer on a slow line")
	c.Flags().BoolVar(&f.plain, "plain", false, "no screen, lines only")
	c.Flags().SortFlags = false
	return c
}

func (f *labFlags) run(c *cobra.Command) error {
	spec, err := f.traffic.spec()
	if err != nil {
		return err
	}
	out, _ := c.OutOrStdout().(*os.File)
	caps := term.Detect(os.Getenv, out)
	if err := f.override(&caps); err != nil {
		return err
	}
	if f.plain || !caps.TTY || os.Getenv("TERM") == "dumb" {
		o := runOptions{spec: spec, ipv6: f.ipv6, interval: defaultInterval}
		if err := leftovers(c.Context(), c.ErrOrStderr(), false); err != nil {
			return err
		}
		return headless(c.Context(), o, &textPrinter{w: c.OutOrStdout()})
	}
	if err := offer(c.Context(), c.InOrStdin(), c.OutOrStdout()); err != nil {
		return err
	}
	b, err := openLab(c.Context(), f.ipv6)
	if err != nil {
		return err
	}
	return screen(c.Context(), b, tui.Config{
		Bench: b, Keep: b.Keep, Spec: spec, Title: "lab", Caps: caps, FPS: f.fps,
	}, c.OutOrStdout())
}

// override puts what the flags say over what was found out.
func (f *labFlags) override(caps *term.Caps) error {
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
