package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/ethtune/ethtune/tune"
	"github.com/ethtune/ethtune/tune/rig/agent"
	"github.com/ethtune/ethtune/tune/rig/lab"
	"github.com/spf13/cobra"
)

func agentCommand() *cobra.Command {
	var end, journal string
	o := agent.Options{Version: version()}
	c := &cobra.Command{
		Use:    "agent",
		Short:  "A Rig on standard input and output: what the other commands start",
		Args:   noArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			debug.SetGCPercent(agentGC)
			// Started as /proc/self/exe, its name in a list of processes would be exe.
			_ = os.WriteFile("/proc/self/comm", []byte("ethtune"), 0)
			ctx, stop := agentSignals(c.Context())
			defer stop()
			if end != "" {
				return lab.RunEnd(ctx, end, version())
			}
			if journal != "" {
				dir, err := stateDir()
				o.Journal = &agent.Journal{Dir: dir, Err: err, Kind: tune.Kind(journal)}
			}
			r, err := agent.NewLocal(o)
			if err != nil {
				return agent.Fatal(os.Stdout, err)
			}
			return agent.Serve(ctx, os.Stdin, os.Stdout, r)
		},
	}
	c.Flags().StringVar(&end, "lab", "", "be this end of a lab")
	c.Flags().StringVarP(&o.Device, "dev", "I", "", "the interface whose knobs it has")
	c.Flags().BoolVar(&o.Netns, "netns", false, "it has the knobs of the network namespace")
	c.Flags().BoolVar(&o.Host, "host", false, "it has the knobs of the whole host")
	c.Flags().StringVar(&journal, "journal", "", "what is turned is written down, as session or kept")
	return c
}

// agentGC is the garbage, in percent of what is live, after which an agent collects it. Little is live and an agent runs for
// days: with the usual 100 its memory creeps up to four megabytes of nothing, for one collection a minute less.
const agentGC = 25

// agentCommandLine starts an agent of this host that writes down what it turns.
func agentCommandLine(args ...string) []string {
	return append([]string{"/proc/self/exe", "agent"}, args...)
}

// stateDir is where this user's journal lives.
func stateDir() (string, error) { return tune.StateDir(os.Getenv, os.Geteuid()) }

// agentSignals makes the process deaf to what a terminal sends: an agent ends when its stream does. A SIGTERM, which
// somebody sent on purpose, undoes and ends as well.
func agentSignals(ctx context.Context) (context.Context, context.CancelFunc) {
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP, syscall.SIGPIPE)
	return signal.NotifyContext(ctx, syscall.SIGTERM)
}
