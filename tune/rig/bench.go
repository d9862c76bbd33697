package rig

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/trial"
)

// readerDepth is how many Frames a Bench may be behind its near Rig: ten seconds of two directions at 10 Hz.
const readerDepth = 200

// Bench is the two ends that a front end holds. It routes settings to the end they belong to, numbers the marks, and
// carries one feed in which Frames, Notes, Marks and Verdicts stand in true order. Its methods may be called by any
// goroutine.
type Bench struct {
	Near Rig    // drives the traffic
	Far  Rig    // nil where the peer is not ours to turn
	Peer string // address:port that the near end drives traffic against

	feed  *metric.Feed
	pumps sync.WaitGroup
	done  chan struct{} // closed when one end is lost or the Bench is closed
	lost  error         // why, good once done is closed
	once  sync.Once

	turning sync.Mutex // one turn at a time, so that marks open and close in order

	mu      sync.Mutex
	judge   trial.Judge
	clock   flowClock
	marks   int
	values  map[knobAt]string // last value read
	turned  []reverse         // newest last
	spec    metric.Spec
	flowing float64 // the last rate that arrived, bit/s of one direction
	grant   metric.Granted
	closed  bool
	left    []knob.Result // what Close put back
}

// reverse is what takes one turn back: the setting as a person would say it, and the plan that does exactly that. A group
// may have had members that stood apart.
type reverse struct {
	says knob.Setting
	plan knob.Plan
}

type knobAt struct {
	side knob.Side
	name string
}

// flowClock maps this process's clock to the near end's seconds since traffic flowed. A record can only arrive late,
// so the smallest difference ever seen is the closest.
type flowClock struct {
	epoch time.Time
}

func (c *flowClock) saw(now time.Time, t float64) {
	e := now.Add(-time.Duration(t * float64(time.Second)))
	if c.epoch.IsZero() || e.Before(c.epoch) {
		c.epoch = e
	}
}

func (c *flowClock) at(now time.Time) float64 {
	if c.epoch.IsZero() {
		return 0
	}
	return now.Sub(c.epoch).Seconds()
}

// NewBench makes a Bench of two Rigs, which it owns from then on. far may be nil. peer is where the near end finds the
// far one.
func NewBench(near, far Rig, peer string) *Bench {
	b := &Bench{
		Near: near, Far: far, Peer: peer,
		feed: metric.NewFeed(), done: make(chan struct{}), values: make(map[knobAt]string),
	}
	for _, end := range b.ends() {
		b.pumps.Add(1)
		go b.pump(end)
	}
	return b
}

// pump carries the records of one end into the feed. What the far end measures of itself is in the near end's Frames
// already; it is only listened to for its end.
func (b *Bench) pump(e end) {
	defer b.pumps.Done()
	r := e.rig.Watch("bench")
	defer r.Close()
	for {
		rec, err := r.Next(context.Background())
		if err != nil {
			b.once.Do(func() {
				b.lost = fmt.Errorf("%s: %w", e.side, ErrLost)
				close(b.done)
			})
			return
		}
		if e.side == knob.Near {
			b.put(rec)
		}
	}
}

// put hands rec to the readers, and the verdicts that it completes after it.
func (b *Bench) put(rec metric.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f, ok := rec.(*metric.Frame); ok {
		b.clock.saw(time.Now(), f.T)
		if bps, ok := f.RxBps.Get(); ok && bps > 0 {
			b.flowing = bps
		}
	}
	b.feed.Put(rec)
	for _, v := range b.judge.Add(rec) {
		b.feed.Put(v)
	}
}

// Watch returns a reader of Frames, Notes, Marks (twice each: opened and closed) and Verdicts. It ends when the Bench is
// closed; [Bench.Done] says when an end is lost. The reader is the caller's to close.
func (b *Bench) Watch(name string) *metric.Reader { return b.feed.Reader(name, readerDepth) }

// Done is closed when the stream to one end is lost, or the Bench is closed.
func (b *Bench) Done() <-chan struct{} { return b.done }

// Lost says which end was lost, once Done is closed.
func (b *Bench) Lost() error {
	select {
	case <-b.done:
		return b.lost
	default:
		return nil
	}
}

// Now is the time in seconds since traffic flowed, 0 before.
func (b *Bench) Now() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.clock.at(time.Now())
}

// Drive starts the load, or re-aims the running one.
func (b *Bench) Drive(ctx context.Context, spec metric.Spec) (metric.Granted, error) {
	g, err := b.Near.Drive(ctx, Load{Peer: b.Peer, Spec: spec})
	if err != nil {
		return g, err
	}
	b.mu.Lock()
	b.spec, b.grant = spec, g
	b.mu.Unlock()
	return g, nil
}

// Pause stops the load; the probe goes on.
func (b *Bench) Pause(ctx context.Context) error {
	_, err := b.Near.Drive(ctx, Load{})
	return err
}

// ResumeAtHalf lets a load that was paused because nobody saw it flow again, at half the rate it had, with a Mark.
func (b *Bench) ResumeAtHalf(ctx context.Context) error {
	if _, err := b.Read(ctx); err != nil {
		return err
	}
	rate := knob.Setting{Side: knob.Near, Knob: "engine.rate"}
	had, _ := strconv.ParseFloat(b.value(rate), 64)
	if had == 0 { // no limit: what flowed is what it had
		streams, _ := strconv.ParseFloat(b.value(knob.Setting{Side: knob.Near, Knob: "engine.streams"}), 64)
		b.mu.Lock()
		had = b.flowing / max(streams, 1)
		b.mu.Unlock()
	}
	rate.Value = strconv.FormatFloat(max(had/2, 1), 'f', 0, 64)
	_, err := b.Apply(ctx, knob.Plan{rate})
	return err
}

// Spec is the load that was last asked for as a whole; single knobs may have been turned since.
func (b *Bench) Spec() metric.Spec {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spec
}

// Granted is what the last Drive was given.
func (b *Bench) Granted() metric.Granted {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.grant
}

// Read returns the state of every knob of both ends, each with its side.
func (b *Bench) Read(ctx context.Context) ([]knob.State, error) {
	var all []knob.State
	for _, end := range b.ends() {
		states, err := end.rig.Read(ctx)
		if err != nil {
			return all, fmt.Errorf("%s: %w", end.side, err)
		}
		for _, s := range states {
			if s.Side == "" {
				s.Side = end.side
			}
			all = append(all, s)
		}
	}
	b.mu.Lock()
	for _, s := range all {
		b.values[knobAt{s.Side, s.Knob}] = s.Value
	}
	b.mu.Unlock()
	return all, nil
}

type end struct {
	side knob.Side
	rig  Rig
}

func (b *Bench) ends() []end {
	ends := []end{{knob.Near, b.Near}}
	if b.Far != nil {
		ends = append(ends, end{knob.Far, b.Far})
	}
	return ends
}

// Apply makes the settings of plan in order and returns the closed Marks. Each Mark is in the feed twice: opened before
// the write and closed with what was read again. What moved is remembered for [Bench.UndoLast], each setting as one turn.
func (b *Bench) Apply(ctx context.Context, plan knob.Plan) ([]metric.Mark, error) {
	b.turning.Lock()
	defer b.turning.Unlock()
	var marks []metric.Mark
	var errs []error
	for _, set := range plan {
		if set.Side == "" {
			set.Side = knob.Near
		}
		m := b.open(set)
		res, err := b.applyOne(ctx, set)
		if err != nil {
			res = knob.Result{Setting: set, From: m.From, Got: m.From, Outcome: knob.Refused, Reason: err.Error()}
			errs = append(errs, err)
		}
		marks = append(marks, b.close(m, res))
		if len(res.Undo) > 0 {
			says := knob.Setting{Side: set.Side, Knob: set.Knob, Value: res.From}
			b.mu.Lock()
			b.turned = append(b.turned, reverse{says, res.Undo})
			b.mu.Unlock()
		}
	}
	return marks, errors.Join(errs...)
}

// UndoLast takes back the newest turn that is not yet undone, as one Mark; with none it returns nil.
func (b *Bench) UndoLast(ctx context.Context) (*metric.Mark, error) {
	b.turning.Lock()
	defer b.turning.Unlock()
	b.mu.Lock()
	n := len(b.turned)
	if n == 0 {
		b.mu.Unlock()
		return nil, nil
	}
	rev := b.turned[n-1]
	b.turned = b.turned[:n-1]
	b.mu.Unlock()
	m := b.open(rev.says)
	res, err := b.takeBack(ctx, rev)
	if err != nil {
		res = knob.Result{Setting: rev.says, From: m.From, Got: m.From, Outcome: knob.Refused, Reason: err.Error()}
	}
	m = b.close(m, res)
	return &m, err
}

// takeBack makes the plan of rev and sums up what came of it as one result.
func (b *Bench) takeBack(ctx context.Context, rev reverse) (knob.Result, error) {
	sum := knob.Result{Setting: rev.says, From: b.value(rev.says), Outcome: knob.Applied}
	r, keepSide := b.route(rev.says)
	plan := make(knob.Plan, 0, len(rev.plan))
	for _, s := range rev.plan {
		if !keepSide {
			s.Side = ""
		} else if s.Side == "" {
			s.Side = rev.says.Side
		}
		plan = append(plan, s)
	}
	results, err := r.Apply(ctx, plan)
	if err != nil {
		return sum, fmt.Errorf("%s: %w", rev.says.Side, err)
	}
	for _, res := range results {
		if !res.OK() {
			sum.Outcome, sum.Reason = res.Outcome, res.Reason
		}
	}
	if _, err := b.Read(ctx); err != nil {
		return sum, err
	}
	sum.Got = b.value(rev.says)
	return sum, nil
}

// value is what was last read of the setting's knob.
func (b *Bench) value(s knob.Setting) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.values[knobAt{s.Side, s.Knob}]
}

func (b *Bench) applyOne(ctx context.Context, set knob.Setting) (knob.Result, error) {
	r, keepSide := b.route(set)
	if r == nil {
		return knob.Result{}, fmt.Errorf("%w: there is no agent at the %s end", ErrInput, set.Side)
	}
	ask := set
	if !keepSide {
		ask.Side = ""
	}
	res, err := r.Apply(ctx, knob.Plan{ask})
	if err != nil {
		return knob.Result{}, fmt.Errorf("%s: %w", set.Side, err)
	}
	if len(res) != 1 {
		return knob.Result{}, fmt.Errorf("%s: %d answers to one setting", set.Side, len(res))
	}
	res[0].Side = set.Side
	return res[0], nil
}

// route finds the Rig of a setting. Knobs of the load belong to the end that drives it, whichever side they mean.
func (b *Bench) route(set knob.Setting) (r Rig, keepSide bool) {
	family, _, _ := strings.Cut(set.Knob, ".")
	if family == "engine" || family == "socket" {
		return b.Near, true
	}
	if set.Side == knob.Far {
		return b.Far, false
	}
	return b.Near, false
}

// open numbers a Mark and puts it into the feed as pending.
func (b *Bench) open(set knob.Setting) metric.Mark {
	b.mu.Lock()
	b.marks++
	now := time.Now()
	m := metric.Mark{
		N: b.marks, T: b.clock.at(now), Time: now,
		Knob: set.Knob, Side: string(set.Side), Asked: set.Value,
		From: b.values[knobAt{set.Side, set.Knob}], Outcome: metric.Pending,
	}
	m.Got = m.From
	b.mu.Unlock()
	b.put(&m)
	return m
}

// close completes a copy of m and puts that into the feed: the open one has readers.
func (b *Bench) close(m metric.Mark, res knob.Result) metric.Mark {
	m.From, m.Got, m.Outcome, m.Reason = res.From, res.Got, string(res.Outcome), res.Reason
	for _, c := range knob.FoldChanges(res.Also) {
		m.Also = append(m.Also, metric.Also{Knob: c.Knob, From: c.From, To: c.To})
	}
	b.mu.Lock()
	b.values[knobAt{knob.Side(m.Side), m.Knob}] = m.Got
	b.mu.Unlock()
	done := m
	b.put(&done)
	return m
}

// Close undoes at both ends what was turned, ends the traffic and lets go of both Rigs. It returns what was put back,
// each with its side and a group as one: From is the value before, Got the one read again. An error names what could not
// be. A second call returns the same list.
func (b *Bench) Close(ctx context.Context) ([]knob.Result, error) {
	b.turning.Lock()
	defer b.turning.Unlock()
	b.mu.Lock()
	closed := b.closed
	b.closed = true
	b.mu.Unlock()
	if closed {
		return b.left, nil
	}
	var errs []error
	for _, end := range b.ends() {
		back, err := end.rig.Undo(ctx)
		for _, r := range back {
			if r.Side == "" {
				r.Side = end.side
			}
			b.left = append(b.left, r)
		}
		b.left = knob.Fold(b.left)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", end.side, err))
		}
	}
	for _, end := range b.ends() {
		if err := end.rig.Close(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", end.side, err))
		}
	}
	b.pumps.Wait()
	b.feed.Close()
	return b.left, errors.Join(errs...)
}
