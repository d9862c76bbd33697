package tune

import (
	"slices"

	"github.com/ethtune/ethtune/tune/knob"
)

// judge fills in what was read back and what that makes of the turn. failed is what the write returned: a reason to show,
// not an outcome.
func judge(r *knob.Result, before, after snapshot, state knob.State, failed error) {
	got, ok := after.at(keyOf(state))
	if !ok {
		r.Got, r.Outcome, r.Reason = "", knob.Partial, "gone after the write"
		return
	}
	r.Got = got.Value
	stuck, movedAny := shortfall(r.Value, before, after, state)
	switch {
	case len(stuck) == 0:
		r.Outcome = knob.Applied
	case len(knob.Members(r.Knob)) > 0 && movedAny, failed != nil && len(r.Undo) > 0:
		r.Outcome = knob.Partial
	case knob.Same(r.Knob, r.Value, r.Got):
		r.Outcome = knob.Unchanged
	case r.Got == r.From:
		r.Outcome = knob.Refused
	default:
		r.Outcome = knob.Adjusted
	}
	switch {
	case failed != nil:
		r.Reason = reason(failed)
	case len(stuck) > 0:
		r.Reason = excuse(stuck[0], r.Value, r.Outcome, after)
	}
}

// shortfall lists the bits, or the one knob, that do not have what was asked, and says whether any of them moved.
func shortfall(asked string, before, after snapshot, state knob.State) (stuck []knob.State, movedAny bool) {
	for _, b := range before.members(state) {
		a, ok := after.at(keyOf(b))
		if !ok {
			continue
		}
		if !knob.Same(a.Knob, asked, a.Value) {
			stuck = append(stuck, a)
		}
		movedAny = movedAny || a.Value != b.Value
	}
	return stuck, movedAny
}

// excuse is our words where the kernel had none: it answered that all is well, and yet.
func excuse(stuck knob.State, asked string, outcome knob.Outcome, after snapshot) string {
	name := knob.Short(stuck.Knob)
	switch {
	case stuck.Wanted == asked && asked == "on":
		return name + " is requested on, kept off by the kernel" + unmet(stuck, after)
	case stuck.Wanted == asked:
		return name + " is requested " + asked + ", kept at " + stuck.Value + " by the kernel"
	case outcome == knob.Adjusted:
		return "adjusted by the kernel to " + stuck.Value
	}
	return "the kernel took the request and kept " + name + " " + stuck.Value
}

// needs says what segmentation cannot do without (net/core/dev.c netdev_fix_features).
var needs = []struct {
	knob string
	bits []string
}{
	{"feature.tx-scatter-gather", []string{
		"feature.tx-tcp-segmentation", "feature.tx-tcp6-segmentation", "feature.tx-tcp-ecn-segmentation",
		"feature.tx-tcp-mangleid-segmentation", "feature.tx-tcp-accecn-segmentation", "feature.tx-generic-segmentation"}},
	{"feature.tx", []string{
		"feature.tx-tcp-segmentation", "feature.tx-tcp6-segmentation", "feature.tx-tcp-ecn-segmentation",
		"feature.tx-tcp-mangleid-segmentation", "feature.tx-udp-segmentation"}},
}

// unmet names the knob that is off and probably keeps the bit off.
func unmet(stuck knob.State, after snapshot) string {
	for _, n := range needs {
		need, ok := after.at(key{stuck.Side, n.knob})
		if ok && need.Value == "off" && slices.Contains(n.bits, stuck.Knob) {
			return ": " + knob.Short(n.knob) + " is off"
		}
	}
	return ""
}
