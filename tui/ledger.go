package tui

import (
	"slices"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
)

// ledger is where the turns of this run have left the knobs they moved, in the order of their first moves.
type ledger struct{ entries []entry }

// entry is one knob that was moved.
type entry struct {
	side        knob.Side
	name        string
	from, now   string
	first, last int // the marks that these are from
}

// take files a closed mark. A mark may come twice, with the answer to a turn and with the feed, in either order.
func (l *ledger) take(m *metric.Mark) {
	if m.Outcome == metric.Pending {
		return
	}
	l.file(m, m.Knob, m.From, m.Got)
	for _, a := range m.Also {
		l.file(m, a.Knob, a.From, a.To)
	}
}

func (l *ledger) file(m *metric.Mark, name, from, now string) {
	side := knob.Side(m.Side)
	i := slices.IndexFunc(l.entries, func(e entry) bool { return e.side == side && e.name == name })
	if i < 0 {
		l.entries = append(l.entries, entry{side, name, from, now, m.N, m.N})
		return
	}
	e := &l.entries[i]
	if m.N < e.first {
		e.from, e.first = from, m.N
	}
	if m.N > e.last {
		e.now, e.last = now, m.N
	}
}

// forget drops a knob that somebody else has moved: it is not this run's any more.
func (l *ledger) forget(s knob.Setting) {
	l.entries = slices.DeleteFunc(l.entries, func(e entry) bool { return e.side == s.Side && e.name == s.Knob })
}

// lasting lists what now differs from the start and outlives the run at these sides. What is asked for in each is the value
// it has.
func (l *ledger) lasting(sides []knob.Side) []knob.Result {
	var out []knob.Result
	for _, e := range l.entries {
		if e.from != e.now && lasts(knob.Setting{Side: e.side, Knob: e.name}, sides) {
			out = append(out, knob.Result{
				Setting: knob.Setting{Side: e.side, Knob: e.name, Value: e.now}, From: e.from, Got: e.now, Outcome: knob.Applied,
			})
		}
	}
	return out
}

// lasts reports whether a setting outlives the run at these sides. What belongs to the load goes with it.
func lasts(s knob.Setting, sides []knob.Side) bool {
	return !knob.OfLoad(s.Knob) && slices.Contains(sides, s.Side)
}
