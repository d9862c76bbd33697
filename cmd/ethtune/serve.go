package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui"
	"github.com/ethtune/ethtune/tui/term"
	"github.com/ethtune/ethtune/tune/rig"
	"github.com/ethtune/ethtune/tune/rig/agent"
	"github.com/spf13/cobra"
)

// serveFlags is the flags of serve.
type serveFlags struct {
	native, iperf3, iperf2 string
	sessions               int
	rate                   number
	time                   seconds
	once, json             bool
	keyFile                string
	look
}

func serveCommand() *cobra.Command {
	f := serveFlags{}
	f.rate.base = 1000
	c := &cobra.Command{
		Use:   "serve",
		Short: "The peer: answers ethtune, iperf3 and iperf on other hosts",
		Long: `The peer: answers ethtune, iperf3 and iperf on other hosts, many at once.
It takes part in tests and changes no setting of this host, whatever a peer asks.
A port that is taken is skipped with a line. On a terminal a screen shows who is there; where standard output is no
terminal, or TERM=dumb, or with --plain, one line is printed when a session comes and one when it goes.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	fl := c.Flags()
	fl.StringVar(&f.native, "native", ":5202", "`address:port` for ethtune; empty = not")
	fl.StringVar(&f.iperf3, "iperf3", ":5201", "`address:port` for iperf3; empty = not")
	fl.StringVar(&f.iperf2, "iperf2", ":5001", "`address:port` for iperf 2; empty = not")
	fl.IntVar(&f.sessions, "max-sessions", metric.MaxSessions, "`sessions` at once")
	fl.Var(&f.rate, "max-rate", "`bit/s` that a peer may ask a stream of this end to send, K M G are 1000-based; 0 = any")
	fl.Var(&f.time, "max-time", "`seconds` that a session may take; 0 = any")
	fl.BoolVarP(&f.once, "one-off", "1", false, "end after one session")
	fl.StringVar(&f.keyFile, "key-file", "", "`file` with a secret that native peers must have too")
	fl.BoolVarP(&f.json, "json", "J", false, "JSON lines")
	f.look.add(fl)
	fl.SortFlags = false
	return c
}

// serve checks the flags and says what they ask for.
func (f *serveFlags) serve() (metric.Serve, error) {
	s := metric.Serve{Native: f.native, Iperf3: f.iperf3, Iperf2: f.iperf2, Rules: metric.Rules{
		Sessions: f.sessions, RateBps: f.rate.v, Time: time.Duration(f.time), Once: f.once,
	}}
	if f.sessions < 1 || f.sessions > metric.MaxSessions {
		return s, usage("--max-sessions %d: 1 to %d", f.sessions, metric.MaxSessions)
	}
	for _, a := range []struct {
		flag string
		addr *string
	}{{"--native", &s.Native}, {"--iperf3", &s.Iperf3}, {"--iperf2", &s.Iperf2}} {
		if *a.addr == "" {
			continue
		}
		if !strings.Contains(*a.addr, ":") {
			*a.addr = ":" + *a.addr
		}
		_, port, err := net.SplitHostPort(*a.addr)
		if n, perr := strconv.ParseUint(port, 10, 16); err != nil || perr != nil || n == 0 {
			return s, usage("%s %q: ADDRESS:PORT or :PORT", a.flag, *a.addr)
		}
	}
	if s.Native == "" && s.Iperf3 == "" && s.Iperf2 == "" {
		return s, usage("every dialect is turned off: nothing to serve")
	}
	var err error
	s.Rules.Key, err = readKey(f.keyFile)
	return s, err
}

func (f *serveFlags) run(c *cobra.Command) error {
	s, err := f.serve()
	if err != nil {
		return err
	}
	out, _ := c.OutOrStdout().(*os.File)
	caps := term.Detect(os.Getenv, out)
	if err := f.look.override(&caps); err != nil {
		return err
	}
	r, err := agent.Spawn(c.Context(), agentCommandLine())
	if err != nil {
		return err
	}
	if f.json || f.plain || !caps.TTY || os.Getenv("TERM") == "dumb" {
		err = f.log(c.Context(), r, s, c.OutOrStdout())
	} else {
		err = f.screen(c.Context(), r, s, caps)
	}
	return errors.Join(unlessEnded(c.Context(), err), r.Close())
}

// log serves until the context is done, and prints who comes and goes.
func (f *serveFlags) log(ctx context.Context, r rig.Rig, s metric.Serve, w io.Writer) error {
	reader := r.Watch("serve")
	defer reader.Close()
	g, err := r.Drive(ctx, rig.Load{Serve: &s})
	if err != nil {
		return err
	}
	if err := f.serving(w, g.Serving); err != nil {
		return err
	}
	for {
		rec, err := reader.Next(ctx)
		if err != nil {
			return fmt.Errorf("%w: the server", rig.ErrLost)
		}
		guest, ok := rec.(*metric.Guest)
		if !ok {
			continue
		}
		if err := f.guest(w, guest); err != nil {
			return err
		}
		if f.once && guest.Event == "out" {
			return nil
		}
	}
}

// screen serves and shows who comes and goes until it is quit.
func (f *serveFlags) screen(ctx context.Context, r rig.Rig, s metric.Serve, caps term.Caps) error {
	facts, err := r.Describe(ctx)
	if err != nil {
		return err
	}
	reader := r.Watch("screen")
	g, err := r.Drive(ctx, rig.Load{Serve: &s})
	if err != nil {
		reader.Close()
		return err
	}
	return tui.RunServe(ctx, tui.ServeConfig{
		Host: facts.Host, Serving: g.Serving, Most: s.Rules.Sessions, Once: s.Rules.Once, Feed: reader, Caps: caps, FPS: f.fps,
		Kick: func(ctx context.Context, id int) error {
			_, err := r.Drive(ctx, rig.Load{Kick: id})
			return err
		},
	})
}

// serving prints what is served and what is not.
func (f *serveFlags) serving(w io.Writer, all []metric.Listening) error {
	for _, l := range all {
		line := fmt.Sprintf("serving %s on %s", l.Dialect, l.Addr)
		if l.Skipped != "" {
			line = fmt.Sprintf("skipped %s: %s", l.Dialect, l.Skipped)
		}
		if f.json {
			b, err := json.Marshal(struct {
				Type string `json:"type"`
				metric.Listening
			}{"serving", l})
			if err != nil {
				return err
			}
			line = string(b)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// guest prints a line of a guest. What it does meanwhile is for JSON alone.
func (f *serveFlags) guest(w io.Writer, g *metric.Guest) error {
	if f.json {
		b, err := metric.AppendRecord(nil, g)
		if err == nil {
			_, err = w.Write(b)
		}
		return err
	}
	if g.Event == "here" {
		return nil
	}
	line := fmt.Sprintf("%s  %d  %-6s %s", g.Time.Format("15:04:05"), g.ID, g.Dialect, g.Peer)
	if g.Event == "out" {
		line += fmt.Sprintf("  %s after %.1f s, received %s, sent %s", guestLoad(g), g.Seconds, byteCount(g.RxBytes), byteCount(g.TxBytes))
		if lost, ok := g.Lost.Get(); ok && g.Packets.Or(0) > 0 {
			line += fmt.Sprintf(", lost %.0f of %.0f", lost, g.Packets.Or(0))
		}
		if j, ok := g.JitterMs.Get(); ok {
			line += ", jitter " + millis(j)
		}
		if g.Reason != "" {
			line += ": " + g.Reason
		}
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// guestLoad is what the guest drives, in a few words.
func guestLoad(g *metric.Guest) string {
	if g.Proto == "" {
		return "left"
	}
	return fmt.Sprintf("left: %s %s x%d", g.Proto, g.Mode, g.Streams)
}

// byteCount is a number of bytes with its unit, 1000-based.
func byteCount(n uint64) string {
	v := float64(n)
	for _, u := range []struct {
		f    float64
		name string
	}{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if v >= u.f {
			return fmt.Sprintf("%.2f %s", v/u.f, u.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}
