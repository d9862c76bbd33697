package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/ethtune/ethtune/tune"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/spf13/cobra"
)

// restoreCommand puts back what outlived the runs that turned it. It needs no network, no terminal and no configuration.
func restoreCommand() *cobra.Command {
	var o tune.RestoreOptions
	c := &cobra.Command{
		Use:   "restore [KNOB...]",
		Short: "Put back what was kept, and what runs that crashed have left",
		RunE: func(c *cobra.Command, args []string) error {
			for _, a := range args {
				k, err := knob.Resolve(a)
				if err != nil {
					return usage("%s", oneLine(err))
				}
				o.Knobs = append(o.Knobs, k.Name)
			}
			o.KeptToo = true
			return restoreAll(c.Context(), c.OutOrStdout(), o)
		},
	}
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "only say what would be done")
	c.Flags().BoolVar(&o.Force, "force", false, "also put back what somebody else has changed since")
	return c
}

// openJournal opens this user's journal; nil where there is none yet.
func openJournal() (*tune.Journal, error) {
	dir, err := stateDir()
	if err != nil {
		return nil, err
	}
	j, err := tune.OpenJournal(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return j, err
}

func restoreAll(ctx context.Context, w io.Writer, o tune.RestoreOptions) error {
	j, err := openJournal()
	if err != nil || j == nil {
		return err
	}
	defer j.Close()
	pending, err := j.Stale()
	if !readable(err) {
		return err
	}
	back, err := j.Restore(ctx, o, tune.Open)
	var rows [][]string
	for _, r := range knob.Fold(back) {
		rows = append(rows, restoreRow(r, o.DryRun))
	}
	var away []knob.Result
	for _, p := range pending {
		if why := unreachable(p); why != "" && wants(o.Knobs, p.Knob) {
			away = append(away, knob.Result{Setting: knob.Setting{Knob: p.Knob, Value: p.Wrote}, Dev: p.Where.Dev, Reason: why})
		}
	}
	for _, r := range knob.Fold(away) {
		rows = append(rows, []string{knob.Short(r.Knob), devText(r.Dev), r.Value, "stays as it is" + because(r.Reason)})
	}
	if werr := writeColumns(w, rows); werr != nil {
		return errors.Join(err, werr)
	}
	if len(rows) == 0 && restoreError(err) == nil {
		_, err = fmt.Fprintln(w, "nothing is to be put back here")
	}
	return restoreError(err)
}

// restoreRow says what became of one knob: its name, its interface, the values, and in words.
func restoreRow(r knob.Result, dryRun bool) []string {
	to, word := r.Got, "put back"
	switch {
	case !r.OK():
		word = "NOT BACK"
	case r.Outcome == knob.Unchanged && r.Reason != "":
		word = "left"
	case dryRun:
		to, word = r.Value, "would be put back"
	}
	return []string{knob.Short(r.Knob), devText(r.Dev), r.From + " -> " + to, word + because(r.Reason)}
}

// restoreError is what a restore that ended with err comes to. A torn last line lost nothing.
func restoreError(err error) error {
	switch {
	case errors.Is(err, tune.ErrNotRestored):
		return fmt.Errorf("%w: %w", errRestore, err)
	case errors.Is(err, tune.ErrTorn) && !errors.Is(err, tune.ErrDamaged):
		return nil
	}
	return err
}

// readable says whether a journal's list came with err: a line that is torn or damaged is one line less.
func readable(err error) bool {
	return err == nil || errors.Is(err, tune.ErrDamaged) || errors.Is(err, tune.ErrTorn)
}

// wants says whether a knob is one of those that were named; with none named every one is.
func wants(names []string, name string) bool {
	if len(names) == 0 || slices.Contains(names, name) {
		return true
	}
	g, ok := knob.GroupOf(name)
	return ok && slices.Contains(names, g.Key)
}

// unreachable says why an entry cannot be put back from here; empty if it can.
func unreachable(p tune.Pending) string {
	switch {
	case !p.SameBoot:
		return "" // history: the reboot has put it back
	case !p.SameNamespace:
		return "it belongs to another network namespace; run this there"
	case !p.DevicePresent:
		return "its interface " + p.Where.Dev + " is gone"
	}
	return ""
}

// leftovers tells w about what runs that crashed have left, or puts it back if that is asked for. Nothing else changes.
func leftovers(ctx context.Context, w io.Writer, restore bool) error {
	names := crashed()
	if len(names) == 0 {
		return nil
	}
	if restore {
		return restoreDead(ctx)
	}
	_, err := fmt.Fprintf(w, "ethtune: an earlier run ended without putting back: %s; put back with: ethtune knob restore\n",
		strings.Join(names, ", "))
	return err
}

// crashed lists what dead sessions have left here. A journal that cannot be read now tells so when a knob is turned.
func crashed() []string {
	j, err := openJournal()
	if err != nil || j == nil {
		return nil
	}
	defer j.Close()
	stale, err := j.Stale()
	if !readable(err) {
		return nil
	}
	var left []knob.Result
	for _, p := range stale {
		if p.Kind == tune.KindSession && p.SameBoot && p.Here() {
			left = append(left, knob.Result{Setting: knob.Setting{Knob: p.Knob, Value: p.First}, Dev: p.Dev})
		}
	}
	var names []string
	for _, r := range knob.Fold(left) {
		name := knob.Short(r.Knob)
		if r.Dev != "" {
			name += " of " + r.Dev
		}
		names = append(names, fmt.Sprintf("%s (was %s)", name, r.Value))
	}
	return names
}

// restoreDead puts back what dead sessions have left here.
func restoreDead(ctx context.Context) error {
	j, err := openJournal()
	if err != nil || j == nil {
		return err
	}
	defer j.Close()
	_, err = j.Restore(context.WithoutCancel(ctx), tune.RestoreOptions{}, tune.Open)
	return restoreError(err)
}

// offer asks on a terminal whether what a crashed run left is to be put back first. The default is the way back; the end
// of input or of ctx leaves all as it is.
func offer(ctx context.Context, in io.Reader, out io.Writer) error {
	names := crashed()
	if len(names) == 0 {
		return nil
	}
	fmt.Fprintf(out, "An earlier run ended without putting back: %s.\nPut back now? [Y/n] ", strings.Join(names, ", "))
	answer := make(chan string, 1)
	go func() {
		line, err := bufio.NewReader(in).ReadString('\n')
		if err != nil {
			line = "n"
		}
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return nil
	case a := <-answer:
		if a != "" && a != "y" && a != "yes" {
			return nil
		}
	}
	return restoreDead(ctx)
}
