package rig

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
)

// reverse is what takes one turn back: the setting as a person would say it, and the plan that does exactly that. A group
// may have had members that stood apart.
type reverse struct {
	says knob.Setting
	plan knob.Plan
}

// Apply makes the settings of plan in order and returns the closed Marks. Each Mark is in the feed twice: opened before
// the write and closed with what was read again. What moved is remembered for [Bench.UndoLast], each setting as one turn.
func (b *Bench) Apply(ctx context.Context, plan knob.Plan) ([]metric.Mark, error) {
	b.turning.Lock()
	defer b.turning.Unlock()
	var marks []metric.Mark
	var errs []error
	for _, set := range plan {
		set.Side = b.sideOf(set)
		m := b.open(set)
		res, err := b.applyOne(ctx, set)
		if err != nil {
			res = knob.Result{Setting: set, From: m.From, Got: m.From, Outcome: knob.Refused, Reason: err.Error()}
			errs = append(errs, err)
		}
		res, err = b.reopen(ctx, res)
		errs = append(errs, err)
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
	res, reopenErr := b.reopen(ctx, res)
	m = b.close(m, res)
	return &m, errors.Join(err, reopenErr)
}

// reopen opens the load's streams anew where a knob has moved that only new sockets see, and says so in the result.
func (b *Bench) reopen(ctx context.Context, res knob.Result) (knob.Result, error) {
	if res.Got == res.From || !knob.ReopensLoad(res.Knob) {
		return res, nil
	}
	said := "the load's streams were reopened"
	_, err := b.Near.Drive(ctx, Load{Reopen: true})
	if err != nil {
		said = "the load's streams could not be reopened: " + err.Error()
	}
	if res.Reason != "" {
		said = res.Reason + "; " + said
	}
	res.Reason = said
	return res, err
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

// sideOf is the side a setting acts on: a knob of the whole host goes to the host whatever was said.
func (b *Bench) sideOf(set knob.Setting) knob.Side {
	switch {
	case b.Host != nil && hostWide(set.Knob):
		return knob.Host
	case set.Side == "":
		return knob.Near
	}
	return set.Side
}

func hostWide(name string) bool {
	d, ok := knob.Lookup(name)
	return ok && d.HostWide()
}

// route finds the Rig of a setting. Knobs of the load belong to the end that drives it, whichever side they mean.
func (b *Bench) route(set knob.Setting) (r Rig, keepSide bool) {
	if knob.OfLoad(set.Knob) {
		return b.Near, true
	}
	switch set.Side {
	case knob.Far:
		return b.Far, false
	case knob.Host:
		if b.Host != nil {
			return b.Host, false
		}
	}
	return b.Near, false
}

// Keep lets the settings' knobs stay as they are when the Bench is closed.
func (b *Bench) Keep(ctx context.Context, keep []knob.Setting) error {
	by := make(map[Rig][]string)
	for _, s := range keep {
		s.Side = b.sideOf(s)
		if r, _ := b.route(s); r != nil {
			by[r] = append(by[r], s.Knob)
		}
	}
	var errs []error
	for r, knobs := range by {
		errs = append(errs, r.Keep(ctx, knobs))
	}
	return errors.Join(errs...)
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
	m.From, m.Got, m.Outcome, m.Reason, m.Denied = res.From, res.Got, string(res.Outcome), res.Reason, res.Denied
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
