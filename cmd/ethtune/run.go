package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
	"github.com/spf13/cobra"
)

// runOptions is a headless run, checked.
type runOptions struct {
	target   target
	spec     metric.Spec
	ipv6     bool
	length   time.Duration // 0 = endless
	interval time.Duration
	turns    []turn
	adjusted bool          // an adjusted value is fine
	restore  bool          // put back first what crashed runs left
	omit     time.Duration // at the start, left out of the totals and not printed
	bytes    int64         // after which the run ends; 0 = by time
}

// runFlags is the flags of run beside those of the traffic.
type runFlags struct {
	traffic
	length, interval     seconds
	sets                 []string
	json, csv            bool
	adjusted, helpFields bool
	restoreFirst         bool
	omit                 seconds
	bytes                number
	reach                reach
}

const (
	defaultLength   = 10 * time.Second
	defaultInterval = time.Second
	shortInterval   = 100 * time.Millisecond // the sampler's own
)

func runCommand() *cobra.Command {
	f := runFlags{length: seconds(defaultLength), interval: seconds(defaultInterval)}
	c := &cobra.Command{
		Use:   "run lab|HOST[:PORT]",
		Short: "Run traffic without a screen: a line an interval, or --json, or --csv",
		Example: `  ethtune run lab -t 15 --set tso=off@5 --set tso=on@10
  ethtune run lab --json -u -b 800M -w 4K
  ethtune run 192.168.1.20 -R           # ethtune serve, iperf3 -s or iperf -s there`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case f.helpFields:
			case len(args) != 1:
				return usage("run needs one bench: ethtune run lab, or ethtune run HOST")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if f.helpFields {
				_, err := io.WriteString(c.OutOrStdout(), jsonHelp)
				return err
			}
			o, err := f.options(c, args[0])
			if err != nil {
				return err
			}
			var p printer = &textPrinter{w: c.OutOrStdout()}
			switch {
			case f.json:
				p = &jsonPrinter{w: c.OutOrStdout()}
			case f.csv:
				p = &csvPrinter{w: c.OutOrStdout()}
			}
			if err := leftovers(c.Context(), c.ErrOrStderr(), o.restore); err != nil {
				return err
			}
			return headless(c.Context(), o, p)
		},
	}
	f.traffic.add(c.Flags())
	c.Flags().VarP(&f.length, "time", "t", "how long, in `seconds` or as 5m; 0 = until a signal")
	c.Flags().VarP(&f.interval, "interval", "i", "`seconds` between lines, at least 0.1")
	c.Flags().StringArrayVar(&f.sets, "set", nil, "turn a knob during the run: `KNOB=VALUE@SECONDS`; may be given again")
	c.Flags().BoolVarP(&f.json, "json", "J", false, "JSON lines; the fields: ethtune run --help-json")
	c.Flags().BoolVar(&f.csv, "csv", false, "comma separated values")
	c.Flags().BoolVar(&f.adjusted, "accept-adjusted", false, "a value that the kernel adjusted is no failure")
	c.Flags().BoolVar(&f.restoreFirst, "restore-first", false, "put back first what a run that crashed has left")
	c.Flags().BoolVar(&f.helpFields, "help-json", false, "say what the fields of --json mean")
	f.bytes.base = 1024
	c.Flags().VarP(&f.bytes, "bytes", "n", "end once that many `bytes` have been sent, which is looked at ten times a second, "+
		"instead of after -t; K M G are 1024-based")
	c.Flags().VarP(&f.omit, "omit", "O", "leave out the first `seconds`, a TCP's slow start")
	f.reach.add(c.Flags())
	c.Flags().SortFlags = false
	return c
}

// options checks everything before anything is started.
func (f *runFlags) options(c *cobra.Command, name string) (runOptions, error) {
	o := runOptions{ipv6: f.ipv6, length: time.Duration(f.length), interval: time.Duration(f.interval), adjusted: f.adjusted,
		restore: f.restoreFirst, omit: time.Duration(f.omit), bytes: f.bytes.v}
	if f.json && f.csv {
		return o, usage("--json and --csv exclude each other")
	}
	if o.interval < shortInterval {
		return o, usage("-i %v: at least %v, the sampler's own", o.interval, shortInterval)
	}
	var err error
	if o.spec, err = f.traffic.spec(); err != nil {
		return o, err
	}
	if f.bytes.given {
		if c.Flags().Changed("time") {
			return o, usage("-n and -t exclude each other")
		}
		o.length = 0
	}
	if o.length > 0 {
		o.length += o.omit
	}
	if o.turns, err = parseTurns(f.sets, o.length); err != nil {
		return o, err
	}
	o.target, err = f.reach.target(c, name, f.ipv4, f.ipv6, o.turns)
	return o, err
}

// headless opens the lab, runs, and puts everything back, whatever ended it. It prints an end also then.
func headless(ctx context.Context, o runOptions, p printer) error {
	b, err := o.target.open(ctx, o.ipv6)
	if err != nil {
		return err
	}
	r := &headlessRun{runOptions: o, bench: b, out: p, press: newPress(), totals: make(map[metric.Dir]*metric.Merger), open: make(map[metric.Dir]*metric.Merger)}
	runErr := r.run(ctx)
	end, endErr := r.end(ctx, runErr)
	// A reader that has stopped is waited for no longer than finish does; a line that failed is told once.
	say, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	_ = r.press.print(say, func() error { return p.end(end) })
	printErr := r.press.finish()
	if errors.Is(runErr, printErr) {
		printErr = nil
	}
	return errors.Join(runErr, endErr, printErr, r.refused(), r.missed(ctx, runErr))
}

// headlessRun is one run.
type headlessRun struct {
	runOptions
	bench  *rig.Bench
	out    printer
	press  *press
	totals map[metric.Dir]*metric.Merger
	open   map[metric.Dir]*metric.Merger // the intervals not yet printed
	now    float64
	sent   float64       // bytes
	late   *metric.Frame // the first that was not counted, as the run was over
	marks  []metric.Mark
	made   int // turns, of those that were asked for
}

func (r *headlessRun) run(ctx context.Context) error {
	reader := r.bench.Watch("run")
	defer reader.Close()
	granted, err := r.bench.Drive(ctx, r.spec)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	states, err := r.bench.Read(ctx)
	if err != nil {
		return unlessEnded(ctx, err)
	}
	facts, err := r.bench.Near.Describe(ctx)
	if err != nil {
		return err
	}
	start := newStart(facts, r.spec, granted, states)
	if err := r.press.print(ctx, func() error { return r.out.start(start) }); err != nil {
		return unlessEnded(ctx, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go r.press.watch(ctx, deadMan(ctx, r.bench))
	turned := make(chan struct{})
	first := make(chan struct{})
	go func() {
		defer close(turned)
		select {
		case <-first:
			r.turnKnobs(ctx)
		case <-ctx.Done():
		}
	}()
	go func() {
		select {
		case <-r.bench.Done():
			cancel(r.bench.Lost())
		case <-ctx.Done():
		}
	}()
	quiet := time.AfterFunc(silence, func() {
		if !r.press.stuck() && !r.endless() {
			cancel(fmt.Errorf("%w: nothing was measured for %v", rig.ErrPeer, silence))
		}
	})
	defer quiet.Stop()
	err = r.listen(ctx, reader, first, quiet)
	cancel(nil)
	<-turned
	if err == nil && granted.Dialect != "native" && r.spec.Proto == metric.UDP && r.spec.Mode != metric.ModeIn {
		err = r.hearLast(ctx, reader)
	}
	return err
}

// silence is how long a run may give no Frame before it is over: its peer is gone. An endless one waits for it.
const silence = 8 * time.Second

func (r *headlessRun) endless() bool { return r.length == 0 && r.bytes == 0 }

// listen prints records until the time is over or the context is. quiet is put off by every Frame.
func (r *headlessRun) listen(ctx context.Context, reader *metric.Reader, first chan struct{}, quiet *time.Timer) error {
	for {
		rec, err := reader.Next(ctx)
		if err != nil {
			return endedBy(ctx)
		}
		f, ok := rec.(*metric.Frame)
		if !ok {
			if m, ok := rec.(*metric.Mark); ok {
				if m.Outcome == metric.Pending {
					continue // only the screen wants to know that it was asked
				}
				r.marks = append(r.marks, *m)
			}
			if err := r.print(ctx, rec); err != nil {
				return err
			}
			continue
		}
		quiet.Reset(silence)
		if r.now == 0 {
			close(first)
		}
		// Frames of one tick share their end; the first of a later tick finds the intervals before it complete.
		if f.T > r.now {
			length := r.interval
			if f.T-f.Span > r.now+shortInterval.Seconds() {
				length = 0 // the peer was lost meanwhile, and no interval goes across that
			}
			if err := r.flush(ctx, length); err != nil {
				return err
			}
			if r.over() {
				r.late = f
				return nil
			}
			r.now = f.T
		}
		if f.T < r.omit.Seconds()+shortInterval.Seconds()/2 {
			continue
		}
		r.sent += f.TxBytes().Or(f.RxBytes().Or(0))
		merge(r.open, f)
		merge(r.totals, f)
	}
}

// over says whether the run has had its time or its bytes.
func (r *headlessRun) over() bool {
	if r.bytes > 0 {
		return r.sent >= float64(r.bytes)
	}
	return r.length > 0 && r.now >= r.length.Seconds()-shortInterval.Seconds()/2
}

// endedBy is the error of a run whose context is over; a signal is none.
func endedBy(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, rig.ErrLost) || errors.Is(cause, rig.ErrPeer) {
		return cause
	}
	return nil
}

// print queues a record for the press.
func (r *headlessRun) print(ctx context.Context, rec metric.Record) error {
	err := r.press.print(ctx, func() error { return r.out.record(rec) })
	if err != nil && ctx.Err() != nil {
		return endedBy(ctx)
	}
	return err
}

func merge(by map[metric.Dir]*metric.Merger, f *metric.Frame) {
	m := by[f.Dir]
	if m == nil {
		m = &metric.Merger{}
		by[f.Dir] = m
	}
	m.Add(f)
}

// flush prints the intervals that have reached length d, half a tick of tolerance given.
func (r *headlessRun) flush(ctx context.Context, d time.Duration) error {
	for _, dir := range []metric.Dir{metric.Out, metric.In} {
		m := r.open[dir]
		if m == nil || m.Span() < d.Seconds()-shortInterval.Seconds()/2 {
			continue
		}
		if f := m.Take(); f != nil {
			f.Jitter, f.Lag = nil, nil // the quantiles say enough
			if err := r.print(ctx, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// restoreWithin is how long putting back may take; nothing but a dead agent takes as long.
const restoreWithin = 10 * time.Second

// end prints what was left over, puts back, and sums up.
func (r *headlessRun) end(ctx context.Context, runErr error) (endRecord, error) {
	say, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	flushErr := r.flush(say, 0)
	back, err := closeBench(ctx, r.bench)
	e := endRecord{T: r.now, Restored: restored(back)}
	if runErr != nil {
		e.Error = oneLine(runErr)
	}
	for _, dir := range []metric.Dir{metric.Out, metric.In} {
		if m := r.totals[dir]; m != nil {
			e.Totals = append(e.Totals, newTotal(m.Take()))
		}
	}
	return e, errors.Join(flushErr, err)
}

// closeBench puts everything back, whatever became of ctx, and says what could not be.
func closeBench(ctx context.Context, b *rig.Bench) ([]knob.Result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreWithin)
	defer cancel()
	back, err := b.Close(ctx)
	if errors.Is(err, rig.ErrLost) {
		// With an agent of the lab its namespace is gone, and the knobs with it. Those of the host's are in the journal.
		err = leftovers(ctx, nil, true)
	}
	for _, r := range back {
		if !r.OK() {
			err = errors.Join(err, fmt.Errorf("%s:%s %w: it is %s%s", r.Side, r.Knob, errRestore, r.Got, because(r.Reason)))
		}
	}
	return back, err
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// unlessEnded forgives an error that a signal caused.
func unlessEnded(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}
