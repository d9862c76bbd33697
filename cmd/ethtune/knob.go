package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/ethtune/ethtune/tune"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
	"github.com/ethtune/ethtune/tune/rig/agent"
	"github.com/spf13/cobra"
)

// knobFlags is what the knob commands share.
type knobFlags struct {
	dev      string
	json     bool
	adjusted bool
}

func knobCommand() *cobra.Command {
	f := &knobFlags{}
	c := &cobra.Command{
		Use:   "knob",
		Short: "List, read, turn and explain the knobs of this host and its interfaces, and put them back",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usage("knob has list, get, set, explain and restore, no %q", args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			return usage("which? ethtune knob list | get KNOB | set KNOB=VALUE | explain KNOB | restore")
		},
	}
	list := &cobra.Command{
		Use: "list", Short: "Every knob with its value, and who turned it", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.list(c.Context(), c.OutOrStdout()) },
	}
	get := &cobra.Command{
		Use: "get KNOB...", Short: "The value of some knobs", Args: someKnobs,
		RunE: func(c *cobra.Command, args []string) error { return f.get(c.Context(), c.OutOrStdout(), args) },
	}
	set := &cobra.Command{
		Use: "set KNOB=VALUE...", Short: "Turn knobs and keep them so; knob restore puts them back", Args: someKnobs,
		RunE: func(c *cobra.Command, args []string) error { return f.set(c.Context(), c.OutOrStdout(), args) },
	}
	set.Flags().BoolVar(&f.adjusted, "accept-adjusted", false, "a value that the kernel adjusted is no failure")
	explain := &cobra.Command{
		Use: "explain KNOB...", Short: "What a knob does, what it may break, and what this host says about it", Args: someKnobs,
		RunE: func(c *cobra.Command, args []string) error { return f.explain(c.Context(), c.OutOrStdout(), args) },
	}
	for _, s := range []*cobra.Command{list, get, set, explain} {
		s.Flags().StringVarP(&f.dev, "dev", "I", "", "the `interface`; default the only one that is up")
		s.Flags().StringVarP(&f.dev, "interface", "i", "", "the same")
		if s != explain {
			s.Flags().BoolVarP(&f.json, "json", "J", false, "JSON")
		}
	}
	c.AddCommand(list, get, set, explain, restoreCommand())
	return c
}

func someKnobs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usage("%s needs a knob; all of them: ethtune knob list", c.CommandPath())
	}
	return nil
}

// agent starts an agent of this host, and of the interface if one is needed.
func (f *knobFlags) agent(ctx context.Context, needDev bool, args ...string) (dev string, r *agent.Spawned, err error) {
	args = append(args, "--host", "--netns")
	if dev, err = f.device(); err != nil && needDev {
		return "", nil, err
	}
	if err == nil {
		args = append(args, "--dev", dev)
	}
	r, err = agent.Spawn(ctx, agentCommandLine(args...))
	return dev, r, err
}

// read asks an agent of its own for all knobs.
func (f *knobFlags) read(ctx context.Context, needDev bool) (dev string, states []knob.State, err error) {
	dev, r, err := f.agent(ctx, needDev)
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
	dev, states, err := f.read(ctx, true)
	if err != nil {
		return err
	}
	return f.print(w, dev, states)
}

func (f *knobFlags) get(ctx context.Context, w io.Writer, args []string) error {
	want := make([]string, len(args))
	needDev := false
	for i, a := range args {
		k, err := knob.Resolve(a)
		if err != nil {
			return usage("%s", oneLine(err))
		}
		if knob.OfLoad(k.Name) {
			return usage("%s belongs to a running load: ethtune lab", k.Name)
		}
		needDev = needDev || knob.Family(k.Name) != "sysctl"
		want[i] = k.Name
	}
	dev, states, err := f.read(ctx, needDev)
	if err != nil {
		return err
	}
	var got []knob.State
	for _, name := range want {
		i := slices.IndexFunc(states, func(s knob.State) bool { return s.Knob == name })
		if i >= 0 {
			got = append(got, states[i])
			continue
		}
		got = append(got, knob.State{Knob: name, Fixed: "not supported"})
		err = errors.Join(err, fmt.Errorf("%s has no %s", dev, name))
	}
	if perr := f.print(w, dev, got); perr != nil {
		return perr
	}
	return err
}

// set turns knobs of this host for good: until somebody restores them, or the next boot.
func (f *knobFlags) set(ctx context.Context, w io.Writer, args []string) error {
	var plan knob.Plan
	needDev := false
	for _, a := range args {
		s, err := knob.ParseSetting(a)
		if err != nil {
			return usage("%s", oneLine(err))
		}
		switch {
		case knob.OfLoad(s.Knob):
			return usage("%s belongs to a running load: ethtune lab", s.Knob)
		case s.Side == knob.Far:
			return usage("%s: knob set has no far end; run it there", a)
		}
		if ok, why := knob.SettableOutsideLab(s.Knob); !ok {
			return fmt.Errorf("%w: %s: %s", rig.ErrPermission, s.Knob, why)
		}
		needDev = needDev || knob.Family(s.Knob) != "sysctl"
		s.Side = ""
		plan = append(plan, s)
	}
	dev, r, err := f.agent(ctx, needDev, "--journal", string(tune.KindKept))
	if err != nil {
		return err
	}
	defer r.Close()
	results, err := r.Apply(ctx, plan)
	if err != nil {
		return err
	}
	if err := f.printResults(w, dev, results); err != nil {
		return err
	}
	return f.outcome(results)
}

// outcome is the failure of the first result that is one.
func (f *knobFlags) outcome(results []knob.Result) error {
	for _, r := range results {
		if r.OK() || r.Outcome == knob.Adjusted && f.adjusted {
			continue
		}
		err := fmt.Errorf("%s=%s was %s%s", knob.Short(r.Knob), r.Value, r.Outcome, because(r.Reason))
		if r.Denied {
			return fmt.Errorf("%w: %w", rig.ErrPermission, err)
		}
		return err
	}
	return nil
}

func (f *knobFlags) printResults(w io.Writer, dev string, results []knob.Result) error {
	if f.json {
		return writeJSON(w, struct {
			Dev     string        `json:"dev,omitempty"`
			Results []knob.Result `json:"results"`
		}{dev, results})
	}
	rows := make([][]string, len(results))
	for i, r := range results {
		words := string(r.Outcome) + because(r.Reason)
		for i, c := range knob.FoldChanges(r.Also) {
			words += map[bool]string{true: "; also ", false: ", "}[i == 0] + knob.Short(c.Knob) + " " + c.To
		}
		rows[i] = []string{knob.Short(r.Knob), devText(devOf(r.Knob, dev)), r.From + " -> " + r.Got, words}
	}
	return writeColumns(w, rows)
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// listed is a State with what is known about it beside.
type listed struct {
	knob.State
	Default string `json:"default,omitempty"` // the kernel's, in words
	By      string `json:"changed_by,omitempty"`
	Was     string `json:"was,omitempty"` // the value before
}

func (f *knobFlags) print(w io.Writer, dev string, states []knob.State) error {
	by := turnedBy(dev)
	all := make([]listed, len(states))
	for i, s := range states {
		s.Side = ""
		d, _ := knob.Lookup(s.Knob)
		all[i] = listed{State: s, Default: d.Default}
		if p, ok := by[s.Knob]; ok {
			all[i].By, all[i].Was = who(p), p.First
		}
	}
	if f.json {
		return writeJSON(w, struct {
			Dev   string   `json:"dev,omitempty"`
			Knobs []listed `json:"knobs"`
		}{dev, all})
	}
	rows := make([][]string, len(all))
	for i, l := range all {
		rows[i] = []string{knob.Short(l.Knob), devText(devOf(l.Knob, dev)), l.valueText(), l.offersText(), l.stateText()}
	}
	return writeColumns(w, rows)
}

func (l listed) valueText() string {
	if l.Value == "" {
		return "-"
	}
	return l.Value
}

func (l listed) offersText() string {
	switch {
	case l.Fixed != "":
		return ""
	case len(l.Offers) > 0 && len(l.Offers) <= 4:
		return strings.Join(l.Offers, "|")
	case l.Min != 0 || l.Max != 0:
		return fmt.Sprintf("%d..%d", l.Min, l.Max)
	}
	return ""
}

func (l listed) stateText() string {
	var parts []string
	if l.Fixed != "" {
		parts = append(parts, l.Fixed)
	}
	if l.Wanted != "" && l.Wanted != l.Value {
		parts = append(parts, "requested "+l.Wanted)
	}
	if l.By != "" {
		parts = append(parts, fmt.Sprintf("%s, was %s", l.By, l.Was))
	}
	if short, _, _ := strings.Cut(l.Default, " ("); short != "" && len(parts) == 0 && len(short) <= 40 {
		parts = append(parts, "default "+short)
	}
	return strings.Join(parts, ", ")
}

// turnedBy is what the journal knows of this boot, this namespace and dev, a group by its first member; empty where it
// cannot be read, which a list of values does not fail for.
func turnedBy(dev string) map[string]tune.Pending {
	by := make(map[string]tune.Pending)
	j, err := openJournal()
	if err != nil || j == nil {
		return by
	}
	defer j.Close()
	entries, err := j.Entries()
	if !readable(err) {
		return by
	}
	for _, p := range entries {
		if !p.SameBoot || !p.Here() || p.Dev != "" && p.Dev != dev {
			continue
		}
		by[p.Knob] = p
		if g, ok := knob.GroupOf(p.Knob); ok {
			if _, told := by[g.Key]; !told {
				by[g.Key] = p
			}
		}
	}
	return by
}

func who(p tune.Pending) string {
	switch {
	case p.Kind == tune.KindKept:
		return "kept since " + p.Since.Format("15:04:05")
	case p.Alive:
		return fmt.Sprintf("turned by pid %d", p.PID)
	}
	return fmt.Sprintf("left by pid %d, which crashed", p.PID)
}

// explain prints the documents of knobs, and what this host says about each where it can be asked.
func (f *knobFlags) explain(ctx context.Context, w io.Writer, args []string) error {
	var knobs []knob.Knob
	for _, a := range args {
		k, err := knob.Resolve(a)
		if err != nil {
			return usage("%s", oneLine(err))
		}
		if _, ok := knob.Lookup(k.Name); !ok {
			return usage("%s is a feature bit that only the kernel knows; its value: ethtune knob get %s", k.Name, k.Name)
		}
		knobs = append(knobs, k)
	}
	dev, states, err := f.read(ctx, f.dev != "")
	if err != nil && f.dev != "" {
		return err
	}
	for i, k := range knobs {
		d, _ := knob.Lookup(k.Name)
		text := strings.TrimRight(d.Explain(), "\n") + "\n"
		if i > 0 {
			text = "\n" + text
		}
		if at := slices.IndexFunc(states, func(s knob.State) bool { return s.Knob == k.Name }); at >= 0 {
			l := listed{State: states[at]}
			here := []string{"here:", devOf(k.Name, dev), l.valueText(), l.offersText(), l.stateText()}
			text += strings.Join(slices.DeleteFunc(here, func(word string) bool { return word == "" }), " ") + "\n"
		}
		if ok, why := knob.Settable(k.Name); !ok {
			text += "here: " + why + "\n"
		} else if ok, why := knob.SettableOutsideLab(k.Name); !ok {
			text += "outside the lab: " + why + "\n"
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}
