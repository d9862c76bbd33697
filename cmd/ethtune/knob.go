package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig/agent"
	"github.com/spf13/cobra"
)

// knobFlags is what the knob commands share.
type knobFlags struct {
	dev  string
	json bool
}

func knobCommand() *cobra.Command {
	f := &knobFlags{}
	c := &cobra.Command{
		Use:   "knob",
		Short: "List, read and explain the knobs of an interface of this host",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("knob has list, get and explain, no %q", args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			return usage("which? ethtune knob list | get KNOB | explain KNOB")
		},
	}
	list := &cobra.Command{
		Use: "list", Short: "Every knob with its value", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.list(c.Context(), c.OutOrStdout()) },
	}
	get := &cobra.Command{
		Use: "get KNOB...", Short: "The value of some knobs", Args: someKnobs,
		RunE: func(c *cobra.Command, args []string) error { return f.get(c.Context(), c.OutOrStdout(), args) },
	}
	explain := &cobra.Command{
		Use: "explain KNOB...", Short: "What a knob does, what it may break, and what to watch", Args: someKnobs,
		RunE: func(c *cobra.Command, args []string) error { return explain(c.OutOrStdout(), args) },
	}
	for _, s := range []*cobra.Command{list, get} {
		s.Flags().StringVarP(&f.dev, "dev", "I", "", "the `interface`; default the only one that is up")
		s.Flags().StringVarP(&f.dev, "interface", "i", "", "the same")
		s.Flags().BoolVarP(&f.json, "json", "J", false, "JSON")
	}
	c.AddCommand(list, get, explain)
	return c
}

func someKnobs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage("%s needs a knob; all of them: ethtune knob list", c.CommandPath())
	}
	return nil
}

// read asks an agent of its own for the knobs of the interface.
func (f *knobFlags) read(ctx context.Context) (dev string, states []knob.State, err error) {
	if dev, err = f.device(); err != nil {
		return "", nil, err
	}
	r, err := agent.Spawn(ctx, []string{"/proc/self/exe", "agent", "--dev", dev})
	if err != nil {
		return dev, nil, err
	}
	defer r.Close()
	states, err = r.Read(ctx)
	return dev, states, err
}

// device is the interface that was named, or the only one that is up.
func (f *knobFlags) device() (string, error) {
	all, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	var up, names []string
	for _, i := range all {
		names = append(names, i.Name)
		if i.Name == f.dev {
			return f.dev, nil
		}
		if i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0 {
			up = append(up, i.Name)
		}
	}
	switch {
	case f.dev != "":
		return "", usage("there is no interface %q here; there are: %s", f.dev, strings.Join(names, " "))
	case len(up) == 1:
		return up[0], nil
	case len(up) == 0:
		return "", usage("no interface is up; name one with -i: %s", strings.Join(names, " "))
	}
	return "", usage("several interfaces are up; name one with -i: %s", strings.Join(up, " "))
}

func (f *knobFlags) list(ctx context.Context, w io.Writer) error {
	dev, states, err := f.read(ctx)
	if err != nil {
		return err
	}
	return f.print(w, dev, states)
}

func (f *knobFlags) get(ctx context.Context, w io.Writer, args []string) error {
	want := make([]string, len(args))
	for i, a := range args {
		k, err := knob.Resolve(a)
		if err != nil {
			return usage("%s", oneLine(err))
		}
		if fam := knob.Family(k.Name); fam == "engine" || fam == "socket" {
			return usage("%s belongs to a running load: ethtune lab", k.Name)
		}
		want[i] = k.Name
	}
	dev, states, err := f.read(ctx)
	if err != nil {
		return err
	}
	by := make(map[string]knob.State, len(states))
	for _, s := range states {
		by[s.Knob] = s
	}
	var got []knob.State
	for _, name := range want {
		s, ok := by[name]
		if !ok {
			why := "not supported"
			if ok, reason := knob.Settable(name); !ok {
				why = reason
			}
			s = knob.State{Knob: name, Fixed: why}
			err = fmt.Errorf("%s has no %s: %s", dev, name, why)
		}
		got = append(got, s)
	}
	if perr := f.print(w, dev, got); perr != nil {
		return perr
	}
	return err
}

func (f *knobFlags) print(w io.Writer, dev string, states []knob.State) error {
	if f.json {
		for i := range states {
			states[i].Side = ""
		}
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(struct {
			Dev   string       `json:"dev"`
			Knobs []knob.State `json:"knobs"`
		}{dev, states})
	}
	for _, s := range states {
		value := s.Value
		if value == "" {
			value = "-"
		}
		state := s.Fixed
		if s.Wanted != "" && s.Wanted != s.Value {
			state = strings.TrimPrefix(state+", requested "+s.Wanted, ", ")
		}
		line := fmt.Sprintf("%-12s %-8s %-36s %s", knob.Short(s.Knob), value, s.Knob, state)
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}

// explain prints the documents of knobs.
func explain(w io.Writer, args []string) error {
	for i, a := range args {
		k, err := knob.Resolve(a)
		if err != nil {
			return usage("%s", oneLine(err))
		}
		d, ok := knob.Lookup(k.Name)
		if !ok {
			return usage("%s is a feature bit that only the kernel knows; its value: ethtune knob get %s", k.Name, k.Name)
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(d.Explain(), "\n")); err != nil {
			return err
		}
		if ok, why := knob.Settable(k.Name); !ok {
			if _, err := fmt.Fprintf(w, "here: %s\n", why); err != nil {
				return err
			}
		}
	}
	return nil
}
