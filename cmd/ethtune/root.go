package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// run is the program without its process: it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	caught := func() syscall.Signal { return 0 }
	if len(args) == 0 || args[0] != "agent" { // an agent has rules of its own for signals
		var stop func()
		ctx, caught, stop = catchSignals(ctx)
		defer stop()
	}
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err != nil && !errors.Is(err, errSaid) {
		fmt.Fprintf(stderr, "ethtune: %s\n", oneLine(err))
	}
	code := exitCode(err)
	if sig := caught(); sig != 0 && (code == 0 || code == 1) {
		return 128 + int(sig)
	}
	return code
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "ethtune",
		Short: "Turn the kernel's network knobs while traffic runs, and see what each turn did",
		Args:  cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("there is no command %q; try: ethtune lab, or ethtune --help", args[0])
			}
			return usage("which command? Probably: ethtune lab (a bench on this machine), or ethtune tune HOST. All of them: ethtune --help")
		},
		SilenceUsage:               true,
		SilenceErrors:              true,
		SuggestionsMinimumDistance: 2,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		if c.Parent() == nil {
			// iperf3's -s and -c were probably meant.
			switch {
			case strings.Contains(err.Error(), "'s' in -s"):
				return usage("ethtune has a command where iperf3 has -s: ethtune serve")
			case strings.Contains(err.Error(), "'c' in -c"):
				return usage("ethtune has commands where iperf3 has -c: ethtune tune HOST, or without a screen ethtune run HOST")
			}
		}
		return usage("%s; see ethtune %s --help", err, strings.TrimPrefix(c.CommandPath(), "ethtune "))
	})
	root.AddCommand(labCommand(), tuneCommand(), serveCommand(), runCommand(), knobCommand(), agentCommand(), versionCommand())
	return root
}

// noArgs and its kin turn cobra's own complaints into ours.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no argument %q", c.CommandPath(), args[0])
	}
	return nil
}

// oneLine is an error as one line, whatever was joined in it.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
