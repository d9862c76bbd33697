package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/ethtune/ethtune/tune/rig/agent"
	"github.com/ethtune/ethtune/tune/rig/lab"
	"github.com/spf13/cobra"
)

func agentCommand() *cobra.Command {
	var end, dev string
	c := &cobra.Command{
		Use:    "agent",
		Short:  "A Rig on standard input and output: what the other commands start",
		Args:   noArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := agentSignals(c.Context())
			defer stop()
			if end != "" {
				return lab.RunEnd(ctx, end, version())
			}
			r, err := agent.NewLocal(version(), dev)
			if err != nil {
				return agent.Fatal(os.Stdout, err)
			}
			return agent.Serve(ctx, os.Stdin, os.Stdout, r)
		},
	}
	c.Flags().StringVar(&end, "lab", "", "be this end of a lab")
	c.Flags().StringVarP(&dev, "dev", "I", "", "the interface whose knobs it has")
	return c
}

// agentSignals makes the process deaf to what a terminal sends: an agent ends when its stream does. A SIGTERM, which
// somebody sent on purpose, undoes and ends as well.
func agentSignals(ctx context.Context) (context.Context, context.CancelFunc) {
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGPIPE)
	return signal.NotifyContext(ctx, syscall.SIGTERM)
}
