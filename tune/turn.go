package tune

import (
	"context"

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
	return r, after
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
