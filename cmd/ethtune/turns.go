package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
)

// turn is a setting at a time of a headless run.
type turn struct {
	at  time.Duration // since traffic flowed
	set knob.Setting
}

// parseTurns reads --set arguments KNOB=VALUE@SECONDS and checks that each can be done in a run of length t (0 =
// endless). They come back in the order of time; those of one time keep theirs.
func parseTurns(args []string, t time.Duration) ([]turn, error) {
	var turns []turn
	for _, a := range args {
		i := strings.LastIndexByte(a, '@')
		if i < 0 {
			return nil, usage("--set %q: no @SECONDS; for example --set gro=off@3", a)
		}
		at, err := parseSeconds(a[i+1:])
		if err != nil {
			return nil, usage("--set %q: time %q: %s", a, a[i+1:], err)
		}
		if t > 0 && at >= t {
			return nil, usage("--set %q: the run ends at %v", a, t)
		}
		s, err := knob.ParseSetting(a[:i])
		if err != nil {
			return nil, usage("--set %q: %s", a, oneLine(err))
		}
		if ok, why := knob.Settable(s.Knob); !ok {
			return nil, usage("--set %q: %s", a, why)
		}
		turns = append(turns, turn{at, s})
	}
	slices.SortStableFunc(turns, func(x, y turn) int { return cmp.Compare(x.at, y.at) })
	return turns, nil
}

// turnKnobs makes the turns at their times.
func (r *headlessRun) turnKnobs(ctx context.Context) {
	for _, t := range r.turns {
		wait := time.NewTimer(t.at - time.Duration(r.bench.Now()*float64(time.Second)))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return
		}
		if ctx.Err() != nil {
			return
		}
		// What came of it, an error too, is its Mark. Nobody reads that of a turn in which the run ended.
		if _, err := r.bench.Apply(ctx, knob.Plan{t.set}); err == nil || ctx.Err() == nil {
			r.made++
		}
	}
}

// refused is a failure if a knob did not take what was asked; a right that was missing comes before all else.
func (r *headlessRun) refused() error {
	var first error
	for _, m := range r.marks {
		switch o := knob.Outcome(m.Outcome); {
		case o == knob.Applied, o == knob.Unchanged, o == knob.Adjusted && r.adjusted:
			continue
		}
		err := fmt.Errorf("%s:%s=%s was %s%s", m.Side, m.Knob, m.Asked, m.Outcome, because(m.Reason))
		if m.Denied {
			return fmt.Errorf("%w: %w", rig.ErrPermission, err)
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// missed is a failure if a run that err did not end, nor a signal, was over before every knob was turned: by its bytes, or
// since the turns before took too long.
func (r *headlessRun) missed(ctx context.Context, err error) error {
	late := r.turns[r.made:]
	if len(late) == 0 || err != nil || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("%d of %d --set were not made, from %s@%v on: the run was over before their time, or the turns before took too long",
		len(late), len(r.turns), late[0].set.Knob, late[0].at)
}
