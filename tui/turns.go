package tui

import (
	"context"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
)

// turns sends settings to the Bench one after the other, in the order of the keys: commands run side by side, and two
// steps of one knob must not overtake each other.
type turns struct {
	bench *rig.Bench
	ctx   context.Context
	queue []turn
	now   turn // under way, if busy
	busy  bool
	sent  int // turns that have left so far
}

// turn is one plan to be applied. Without one it takes the last one back, or, with keep, carries out the command that keep
// gives when its turn has come.
type turn struct {
	plan knob.Plan
	keep func() tea.Cmd
}

// turnedMsg is the Bench's answer to a turn, and a new reading of all knobs.
type turnedMsg struct {
	undo   bool
	marks  []metric.Mark
	err    error
	states statesMsg
}

// statesMsg is a reading of all knobs.
type statesMsg struct {
	states  []knob.State
	granted metric.Granted
	err     error
}

// add queues t and returns the command that carries it out, nil while another is under way. Settings of the same knob
// that have not left yet give way to the newer one.
func (q *turns) add(t turn) tea.Cmd {
	if n := len(q.queue); n > 0 && same(q.queue[n-1].plan, t.plan) {
		q.queue[n-1] = t
	} else {
		q.queue = append(q.queue, t)
	}
	return q.next()
}

func same(a, b knob.Plan) bool {
	return len(a) == 1 && len(b) == 1 && a[0].Side == b[0].Side && a[0].Knob == b[0].Knob
}

// done takes note of an answer and returns the command for the next turn.
func (q *turns) done() tea.Cmd {
	q.busy = false
	return q.next()
}

func (q *turns) next() tea.Cmd {
	if q.busy || len(q.queue) == 0 {
		return nil
	}
	t := q.queue[0]
	q.queue = q.queue[1:]
	q.now, q.busy = t, true
	q.sent++
	if t.keep != nil {
		return t.keep()
	}
	bench, ctx := q.bench, q.ctx
	return func() tea.Msg {
		msg := turnedMsg{undo: t.plan == nil}
		if msg.undo {
			var m *metric.Mark
			if m, msg.err = bench.UndoLast(ctx); m != nil {
				msg.marks = append(msg.marks, *m)
			}
		} else {
			msg.marks, msg.err = bench.Apply(ctx, t.plan)
		}
		msg.states = readStates(ctx, bench)
		return msg
	}
}

// lasting reports whether a turn that is not answered yet may outlive the run at these sides.
func (q *turns) lasting(sides []knob.Side) bool {
	unanswered := q.queue
	if q.busy {
		unanswered = append([]turn{q.now}, q.queue...)
	}
	return slices.ContainsFunc(unanswered, func(t turn) bool {
		return slices.ContainsFunc(t.plan, func(s knob.Setting) bool { return lasts(s, sides) })
	})
}

// read is the command that reads all knobs.
func (q *turns) read() tea.Cmd {
	bench, ctx := q.bench, q.ctx
	return func() tea.Msg { return readStates(ctx, bench) }
}

func readStates(ctx context.Context, bench *rig.Bench) statesMsg {
	states, err := bench.Read(ctx)
	return statesMsg{states: states, granted: bench.Granted(), err: err}
}
