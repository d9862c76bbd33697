package tune

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/ethtune/ethtune/tune/knob"
)

// Tuner turns the knobs of its families, one at a time. Its methods may be called by any goroutine; they wait for each
// other.
type Tuner struct {
	mu       sync.Mutex
	families []Family
	first    map[key]knob.State // as found before the first turn that moved it
	order    []key              // of first, in order of moving
	log      *logbook           // nil where nothing is written down
}

// New returns a Tuner of the families, which from then on nobody else may write to. Where two have the same knob at the
// same side, the first has it.
func New(families ...Family) *Tuner {
	return &Tuner{families: slices.Clone(families), first: make(map[key]knob.State)}
}

// Read returns the state of every knob, family after family. If some could not be read the states of the others come with
// the error.
func (t *Tuner) Read(ctx context.Context) ([]knob.State, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	snaps, err := t.readAll(ctx)
	var states []knob.State
	for _, s := range snaps {
		states = append(states, s.states...)
	}
	return states, err
}

// readAll has one snapshot per family, in their order; that of a family which cannot be read is zero, and the error says
// so.
func (t *Tuner) readAll(ctx context.Context) ([]snapshot, error) {
	snaps := make([]snapshot, len(t.families))
	var errs []error
	for i, f := range t.families {
		var err error
		snaps[i], err = read(ctx, f)
		errs = append(errs, err)
	}
	return snaps, errors.Join(errs...)
}

// Apply makes the settings in the order of the plan, one Result each, and never stops at a refusal. When ctx ends the
// settings not yet tried are refused with that reason. The error is for when no family could be read.
func (t *Tuner) Apply(ctx context.Context, plan knob.Plan) ([]knob.Result, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.log != nil {
		t.log.begin(ctx)
		defer t.log.end()
	}
	// Reading goes on after ctx has ended: what has been done must be told.
	reading := context.WithoutCancel(ctx)
	snaps, err := t.readAll(reading)
	if err != nil && !slices.ContainsFunc(snaps, func(s snapshot) bool { return s.place != nil }) {
		return nil, err
	}
	results := make([]knob.Result, 0, len(plan))
	for _, s := range plan {
		i, state, ok := locate(snaps, s.Side, s.Knob)
		if !ok {
			results = append(results, unlocated(s, err))
			continue
		}
		if ended := context.Cause(ctx); ended != nil {
			r := knob.Result{Setting: s, From: state.Value, Got: state.Value}
			results = append(results, refuse(r, "not tried: "+ended.Error()))
			continue
		}
		r, after := t.turn(ctx, t.families[i], snaps[i], state, s)
		results = append(results, r)
		snaps[i] = after
	}
	return results, nil
}

// locate finds the family of a knob.
func locate(snaps []snapshot, side knob.Side, name string) (int, knob.State, bool) {
	for i, snap := range snaps {
		if state, ok := snap.find(side, name); ok {
			return i, state, true
		}
	}
	return 0, knob.State{}, false
}

// unlocated is a knob that no family has, or whose family is perhaps the one that could not be read.
func unlocated(s knob.Setting, err error) knob.Result {
	if err != nil {
		return refuse(knob.Result{Setting: s}, reason(err))
	}
	return refuse(knob.Result{Setting: s}, "not supported")
}

func refuse(r knob.Result, why string) knob.Result {
	r.Outcome, r.Reason = knob.Refused, why
	return r
}

// reason is the kernel's words in err where it has them.
func reason(err error) string {
	var worded interface{ Reason() string }
	if errors.As(err, &worded) {
		return worded.Reason()
	}
	return err.Error()
}

// remember keeps the states as originals, except groups, which their members stand for, and what nobody can put back.
func (t *Tuner) remember(states []knob.State) {
	for _, s := range states {
		k := keyOf(s)
		if _, known := t.first[k]; known || s.Fixed != "" || len(knob.Members(s.Knob)) > 0 {
			continue
		}
		if t.log != nil {
			s = t.log.original(s)
		}
		t.first[k] = s
		t.order = append(t.order, k)
	}
}
