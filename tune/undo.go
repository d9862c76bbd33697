package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ethtune/ethtune/tune/knob"
)

// ErrNotRestored is an Undo that could not put everything back. The error says what is left and why.
var ErrNotRestored = errors.New("settings could not be restored")

// Undo puts back everything that was moved through this Tuner, as value and as request, to what was first found: what
// others need first, each verified by reading again. It returns one Result for each knob that did not stand as it was
// found. What could not be put back stays remembered for the next Undo; when all is back, the next does nothing.
//
// A knob that another living session has turned too is left, with a Result that is Unchanged and says so. One that is in
// the journal, and is no longer as any session left it, is somebody else's: it is left, refused with that reason.
func (t *Tuner) Undo(ctx context.Context) ([]knob.Result, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.log != nil && t.log.session != nil {
		return t.undoJournaled(ctx)
	}
	results := t.putBack(ctx)
	return results, notRestored(results, context.Cause(ctx))
}

// putBack is Undo without the error. What is not back is left in t.order.
func (t *Tuner) putBack(ctx context.Context) []knob.Result {
	if len(t.order) == 0 {
		return nil
	}
	before, unread := t.readAll(ctx)
	after, failed := before, make(map[key]error)
	// A second round, because putting back one knob may have moved another that was already right.
	for range 2 {
		plan := t.astray(after)
		if len(plan) == 0 || ctx.Err() != nil {
			break
		}
		t.writeBack(ctx, after, plan, failed)
		// What has been done must be told, even if ctx ended over it.
		after, unread = t.readAll(context.WithoutCancel(ctx))
	}
	var (
		results []knob.Result
		kept    []key
	)
	for _, k := range t.order {
		r, astray := t.restored(k, before, after, failed[k], unread)
		if astray {
			kept = append(kept, k)
		} else {
			delete(t.first, k)
		}
		if r.Outcome != knob.Unchanged {
			results = append(results, r)
		}
	}
	t.order = kept
	return results
}

// astray is the plan that puts back what does not stand as it was found.
func (t *Tuner) astray(now []snapshot) knob.Plan {
	var plan knob.Plan
	for _, k := range t.order {
		first := t.first[k]
		if _, state, ok := locate(now, k.side, k.name); ok && !same(first, state) {
			plan = append(plan, knob.Setting{Side: k.side, Knob: k.name, Value: requested(first)})
		}
	}
	return plan.Ordered()
}

// writeBack writes the plan, what belongs to one family and has the same rank in one go, and notes what failed.
func (t *Tuner) writeBack(ctx context.Context, now []snapshot, plan knob.Plan, failed map[key]error) {
	place := func(s knob.Setting) [2]int {
		i, _, _ := locate(now, s.Side, s.Knob)
		return [2]int{i, knob.Rank(s.Knob)}
	}
	for len(plan) > 0 {
		at, n := place(plan[0]), 1
		for n < len(plan) && place(plan[n]) == at {
			n++
		}
		err := t.families[at[0]].Write(ctx, plan[:n:n])
		for _, s := range plan[:n] {
			failed[key{s.Side, s.Knob}] = err
		}
		plan = plan[n:]
	}
}

// restored says what became of one original. The Outcome is Unchanged where it had never gone astray.
func (t *Tuner) restored(k key, before, after []snapshot, failed, unread error) (r knob.Result, astray bool) {
	first := t.first[k]
	r.Setting = knob.Setting{Side: k.side, Knob: k.name, Value: requested(first)}
	_, was, ok := locate(before, k.side, k.name)
	r.From = was.Value
	_, is, there := locate(after, k.side, k.name)
	r.Got = is.Value
	switch {
	case !there && unread != nil:
		return refuse(r, reason(unread)), true
	case !there:
		return refuse(r, "no longer there"), true
	case ok && same(first, was) && same(first, is):
		r.Outcome = knob.Unchanged
		return r, false
	case same(first, is):
		r.Outcome = knob.Applied
		return r, false
	case is.Value == was.Value:
		r.Outcome = knob.Refused
	default:
		r.Outcome = knob.Adjusted
	}
	r.Reason = "found " + first.Value + ", now " + is.Value
	if failed != nil {
		r.Reason = reason(failed)
	}
	return r, true
}

// notRestored names what is not back.
func notRestored(results []knob.Result, ended error) error {
	var left []string
	for _, r := range results {
		if r.OK() {
			continue
		}
		what := strings.TrimSpace(r.Dev + " " + knob.Short(r.Knob) + "=" + r.Value)
		if r.Reason != "" {
			what += " (" + r.Reason + ")"
		}
		left = append(left, what)
	}
	if len(left) == 0 {
		return nil
	}
	slices.Sort(left)
	err := fmt.Errorf("%w: %s", ErrNotRestored, strings.Join(left, ", "))
	if ended != nil {
		err = fmt.Errorf("%w: %w", err, ended)
	}
	return err
}
