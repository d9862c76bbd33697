package tune

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/ethtune/ethtune/tune/knob"
)

// turn makes one setting and says what came of it, with the family as it was read afterwards.
func (t *Tuner) turn(ctx context.Context, f Family, before snapshot, state knob.State, s knob.Setting) (knob.Result, snapshot) {
	r := knob.Result{Setting: s, From: state.Value, Got: state.Value}
	value, err := knob.Canonical(s.Knob, s.Value)
	if err != nil {
		return refuse(r, knob.Short(s.Knob)+" "+err.Error()), before
	}
	r.Value = value
	if state.Fixed != "" {
		r.Denied = state.Fixed == knob.NeedsAdmin
		return refuse(r, state.Fixed), before
	}
	if satisfied(before, state, value) {
		r.Outcome = knob.Unchanged
		return r, before
	}
	write := r.Setting
	if state.Side != "" {
		write.Side = state.Side
	}
	if c, ok := f.(Checker); ok && value != requested(t.found(state)) {
		if err := c.Check(write); err != nil {
			return refuse(r, err.Error()), before
		}
	}
	if t.log != nil {
		if err := t.log.intend(before, state, write, t.first); err != nil {
			return refuse(r, err.Error()), before
		}
	}
	failed := f.Write(ctx, []knob.Setting{write})
	after, err := read(context.WithoutCancel(ctx), f)
	if err != nil {
		// Nobody knows what the write did, so all it could have done must be put back.
		t.remember(before.members(state))
		r.Got, r.Outcome, r.Reason = "", knob.Partial, "written, but not read back: "+reason(err)
		r.Undo = undoPlan(before.members(state), s.Side)
		return r, before
	}
	changed := moved(before, after)
	t.remember(changed)
	r.Undo = undoPlan(changed, s.Side)
	r.Also = also(s.Knob, changed, after)
	judge(&r, before, after, state, failed)
	if !r.OK() && errors.Is(failed, os.ErrPermission) {
		r.Denied = true
		if !strings.Contains(r.Reason, knob.NeedsAdmin) {
			r.Reason = knob.NeedsAdmin + ": " + r.Reason
		}
	}
	if t.log != nil {
		after = t.settle(ctx, f, &r, changed, after)
	}
	return r, after
}

// found is the state as it was before the first turn.
func (t *Tuner) found(now knob.State) knob.State {
	if first, ok := t.first[keyOf(now)]; ok {
		return first
	}
	return now
}

// satisfied reports whether the kernel already has what is asked, as value and as request, of every bit of a group.
func satisfied(snap snapshot, state knob.State, value string) bool {
	for _, m := range snap.members(state) {
		if requested(m) != value || !knob.Same(m.Knob, value, m.Value) {
			return false
		}
	}
	return true
}

// also lists the other knobs whose value moved with the one turned.
func also(turned string, changed []knob.State, after snapshot) []knob.Change {
	var list []knob.Change
	for _, b := range changed {
		a, _ := after.at(keyOf(b))
		if b.Value != a.Value && !own(turned, b.Knob) {
			list = append(list, knob.Change{Knob: b.Knob, From: b.Value, To: a.Value})
		}
	}
	return list
}

// undoPlan asks for what was requested before, bit by bit. States that carry no side get that of the turn.
func undoPlan(states []knob.State, side knob.Side) knob.Plan {
	var plan knob.Plan
	for _, s := range states {
		if s.Fixed != "" || len(knob.Members(s.Knob)) > 0 {
			continue
		}
		if s.Side != "" {
			side = s.Side
		}
		plan = append(plan, knob.Setting{Side: side, Knob: s.Knob, Value: requested(s)})
	}
	return plan.Ordered()
}
