package tune

import (
	"context"
	"fmt"
	"slices"

	"github.com/ethtune/ethtune/tune/knob"
)

// key names a knob at one side.
type key struct {
	side knob.Side
	name string
}

func keyOf(s knob.State) key { return key{s.Side, s.Knob} }

// snapshot is a family as it was read once. The zero snapshot is a family that could not be read.
type snapshot struct {
	states []knob.State
	place  map[key]int
}

func read(ctx context.Context, f Family) (snapshot, error) {
	states, err := f.Read(ctx)
	if err != nil {
		return snapshot{}, fmt.Errorf("read %s knobs: %w", f.Name(), err)
	}
	snap := snapshot{states: states, place: make(map[key]int, len(states))}
	for i, s := range states {
		snap.place[keyOf(s)] = i
	}
	return snap, nil
}

func (s snapshot) at(k key) (knob.State, bool) {
	i, ok := s.place[k]
	if !ok {
		return knob.State{}, false
	}
	return s.states[i], true
}

// find is the state a setting speaks of. A family that knows only itself has states without a side, which every side
// means; a setting without a side means near.
func (s snapshot) find(side knob.Side, name string) (knob.State, bool) {
	st, ok := s.at(key{side, name})
	if !ok && side == "" {
		return s.at(key{knob.Near, name})
	}
	if !ok {
		return s.at(key{"", name})
	}
	return st, true
}

// members are the states of a group's members that can be turned here; of a single knob, its own.
func (s snapshot) members(of knob.State) []knob.State {
	names := knob.Members(of.Knob)
	if len(names) == 0 {
		return []knob.State{of}
	}
	var found []knob.State
	for _, name := range names {
		if st, ok := s.at(key{of.Side, name}); ok && st.Fixed == "" {
			found = append(found, st)
		}
	}
	return found
}

// requested is what the kernel was last asked for, as far as it remembers.
func requested(s knob.State) string {
	if s.Wanted != "" {
		return s.Wanted
	}
	return s.Value
}

// same reports whether a knob stands as it stood before: the request is the same, and so is the value, unless it differed
// from its request both times, which is a value that the kernel moves by itself.
func same(before, after knob.State) bool {
	if requested(before) != requested(after) {
		return false
	}
	return before.Value == after.Value || (before.Wanted != "" && after.Wanted != "")
}

// moved lists the states of before that do not stand the same in after.
func moved(before, after snapshot) []knob.State {
	var list []knob.State
	for _, b := range before.states {
		if a, ok := after.at(keyOf(b)); ok && !same(b, a) {
			list = append(list, b)
		}
	}
	return list
}

// own reports whether the knob is turned when name is: it is name, one of its members, or a group that it is a member of.
func own(name, other string) bool {
	return name == other || slices.Contains(knob.Members(name), other) || slices.Contains(knob.Members(other), name)
}
