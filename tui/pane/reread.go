package pane

import (
	"slices"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
)

// Reread takes a later reading of the knobs, which the list owns from then on, and returns what moved since the one before
// though none of marks, the turns made in between, moved it: somebody else did. Each setting has the value it has now, and
// a group that moved stands for its members.
func (k *KnobList) Reread(states []knob.State, marks []metric.Mark) []knob.Setting {
	var moved []knob.Setting
	for _, now := range states {
		was := k.State(now.Side, now.Knob)
		if was == nil || was.Side != now.Side || was.Value == now.Value || was.Value == "" || now.Value == "" {
			continue
		}
		// The load's own values move by themselves: TCP sizes its buffers as it goes.
		if knob.OfLoad(now.Knob) || slices.ContainsFunc(marks, func(m metric.Mark) bool { return explains(&m, now.Knob) }) {
			continue
		}
		k.story(now.Knob).other = &knob.Change{Knob: now.Knob, From: was.Value, To: now.Value}
		moved = append(moved, knob.Setting{Side: now.Side, Knob: now.Knob, Value: now.Value})
	}
	k.SetStates(states)
	return slices.DeleteFunc(slices.Clone(moved), func(s knob.Setting) bool {
		return slices.ContainsFunc(moved, func(g knob.Setting) bool {
			return g.Side == s.Side && slices.Contains(knob.Members(g.Knob), s.Knob)
		})
	})
}

// explains reports whether the turn of m may have moved the knob. What a device has moves with other things that it has,
// and a turn that was taken back does not say what came back with it.
func explains(m *metric.Mark, name string) bool {
	return m.Knob == name || ofDevice(m.Knob) && ofDevice(name) ||
		slices.ContainsFunc(m.Also, func(a metric.Also) bool { return a.Knob == name })
}

func ofDevice(name string) bool {
	switch knob.Family(name) {
	case "sysctl", "socket", "engine":
		return false
	}
	return true
}
