package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ethtune/ethtune/tune/knob"
)

// NewJournaled returns a Tuner of the families, whose knobs belong to the place where, that writes down what it finds
// before it touches the kernel. A setting that cannot be written down is refused, and the kernel is not touched. Nobody
// else on this host turns anything while one of its methods runs. The Session stays the caller's, who undoes before
// closing it.
//
// Where another session has turned a knob before, also one that crashed, the original is the value before that one. [Tuner.Undo]
// leaves a knob that another living session has turned too: whoever is last puts the original back.
func NewJournaled(s *Session, where Where, families ...Family) *Tuner {
	t := New(families...)
	t.log = &logbook{session: s, where: where, seen: make(map[string]reading)}
	return t
}

// NewRefusing returns a Tuner that reads, and refuses to turn anything for the reason why: for where there is no journal.
func NewRefusing(why error, families ...Family) *Tuner {
	t := New(families...)
	t.log = &logbook{err: errors.New(oneLine(why))}
	return t
}

// logbook is a Tuner's part in the journal.
type logbook struct {
	session *Session // nil of a Tuner that refuses
	where   Where
	ledger  *ledger            // while the journal is locked
	err     error              // why it is not
	turn    int                // the one under way
	seen    map[string]reading // every knob as it was first found since the last undo
}

// begin locks the journal until end. If it cannot be had, every turn until then is refused.
func (g *logbook) begin(ctx context.Context) {
	if g.session != nil {
		g.ledger, g.err = g.session.journal.lock(ctx)
	}
}

func (g *logbook) end() {
	if g.ledger != nil {
		g.ledger.unlock()
		g.ledger = nil
	}
}

// line begins a line about the place that the knob belongs to.
func (g *logbook) line(o op, name string) line {
	by := g.session.by()
	return line{Op: o, Session: by.session, PID: by.pid, At: by.at, Where: g.where.scope(name)}
}

// append has the lines on the disk, or an error that is one line.
func (g *logbook) append(lines ...line) error {
	if g.err != nil {
		return g.err
	}
	if err := g.ledger.append(lines...); err != nil {
		return fmt.Errorf("journal %s: %s", g.session.journal.name, oneLine(err))
	}
	return nil
}

// entry is what the journal knows of the knob, or nil.
func (g *logbook) entry(name string) *entry {
	if g.ledger == nil {
		return nil
	}
	return g.ledger.book.entries[spot{g.where.place(name), name}]
}

// first is what is to be put back when the knob is found as s: the original of the sessions which hold it, unless they are
// all dead and somebody else has changed it since, whose value it then is.
func (g *logbook) first(s knob.State) reading {
	found := readingOf(s)
	if g.ledger == nil {
		return found
	}
	seen, ok := g.seen[s.Knob]
	found.Loose = ok && (seen.Loose || seen != found) || g.ledger.taken(g.where.place(s.Knob), g.others)
	e := g.entry(s.Knob)
	if e == nil || len(e.holds) == 0 {
		return found
	}
	if g.ledger.other(e, "") == nil && !e.doubtful() && e.got.request() != requested(s) {
		return found
	}
	return e.first
}

// original is first as a state of the knob.
func (g *logbook) original(s knob.State) knob.State {
	r := g.first(s)
	s.Value, s.Wanted = r.Value, r.Wanted
	return s
}

// intend writes down everything that the turn may move, as it is before.
func (g *logbook) intend(before snapshot, turned knob.State, s knob.Setting, first map[key]knob.State) error {
	if g.err != nil {
		return fmt.Errorf("%w; nothing was turned", g.err)
	}
	g.turn = int(g.session.turn.Add(1))
	ln := g.line(opTurn, turned.Knob)
	ln.Turn, ln.Asked = g.turn, s.Knob+"="+s.Value
	for _, st := range kin(before, turned) {
		it := item{Knob: st.Knob, First: g.first(st)}
		if _, ok := g.seen[st.Knob]; !ok {
			g.seen[st.Knob] = it.First
		}
		if e := g.entry(st.Knob); e == nil || e.hold(g.session.id) == nil {
			// The line that said so may have been damaged since.
			if known, ok := first[keyOf(st)]; ok {
				it.First = readingOf(known)
			}
		}
		switch {
		case it.valid(opTurn, ln.Where):
			ln.Knobs = append(ln.Knobs, it)
		case own(turned.Knob, st.Knob):
			return fmt.Errorf("journal: %s is %.40q, which could not be put back; nothing was turned", st.Knob, st.Value)
		}
	}
	if err := g.append(ln); err != nil {
		return fmt.Errorf("%w; nothing was turned", err)
	}
	return nil
}

// kin are the states that a turn may move: of a sysctl itself, for those know nothing of each other; of anything else all
// that the family has of the same device.
func kin(before snapshot, turned knob.State) []knob.State {
	alone := knob.Family(turned.Knob) == "sysctl"
	var list []knob.State
	for _, s := range before.states {
		switch {
		case s.Fixed != "" || s.Value == "" || s.Side != turned.Side || len(knob.Members(s.Knob)) > 0:
		case s.Knob == turned.Knob, !alone && knob.Family(s.Knob) != "sysctl":
			list = append(list, s)
		}
	}
	return list
}

// settle writes down what the turn moved, and returns the family as it is then. If that fails, what intend wrote is still
// enough to put it back; a turn that was to be kept is put back at once, for whoever ends the session would do so.
func (t *Tuner) settle(ctx context.Context, f Family, r *knob.Result, changed []knob.State, after snapshot) snapshot {
	g := t.log
	o := opHeld
	if g.session.kind == KindKept {
		o = opKept
	}
	ln := g.line(o, r.Knob)
	ln.Turn = g.turn
	var moved []key
	for _, b := range changed {
		_, ours := t.first[keyOf(b)]
		a, ok := after.at(keyOf(b))
		if !ours || !ok {
			continue
		}
		it := item{b.Knob, g.first(b), readingOf(a)}
		if e := g.entry(b.Knob); o == opKept && e != nil && e.kept != nil {
			it.First = e.kept.first
		}
		if it.valid(o, ln.Where) {
			ln.Knobs = append(ln.Knobs, it)
			moved = append(moved, keyOf(b))
		}
	}
	switch err := g.append(ln); {
	case err != nil && o == opKept && len(changed) > 0:
		return t.takeBack(ctx, f, r, changed, after, err)
	case err != nil:
		if r.Reason == "" {
			r.Reason = "turned, but not noted: " + err.Error()
		}
	case o == opKept:
		t.forget(moved)
	}
	return after
}

// takeBack puts back what one turn moved, for it could not be written down, and returns the family as it is then. What
// cannot be put back is left to Undo.
func (t *Tuner) takeBack(ctx context.Context, f Family, r *knob.Result, changed []knob.State, after snapshot, why error) snapshot {
	ctx = context.WithoutCancel(ctx)
	back := New(f)
	back.remember(changed)
	left := notRestored(back.putBack(ctx), nil)
	now, err := read(ctx, f)
	if err != nil {
		r.Got, r.Outcome, r.Reason = "", knob.Partial, "could not be written down: "+why.Error()+"; nor read again: "+reason(err)
		return after
	}
	state, _ := now.find(r.Side, r.Knob)
	r.Got = state.Value
	if left != nil {
		r.Outcome, r.Reason = knob.Partial, "could not be written down: "+why.Error()+"; "+left.Error()
		return now
	}
	var done []key
	for _, b := range changed {
		if first, ok := t.first[keyOf(b)]; ok && same(first, b) {
			done = append(done, keyOf(b))
		}
	}
	t.forget(done)
	r.Undo, r.Also = nil, nil
	*r = refuse(*r, "could not be written down, put back: "+why.Error())
	return now
}

// forget takes the knobs from what Undo puts back.
func (t *Tuner) forget(keys []key) {
	for _, k := range keys {
		delete(t.first, k)
	}
	t.order = slices.DeleteFunc(t.order, func(k key) bool { return slices.Contains(keys, k) })
}

// Keep lets the named knobs, or all where none is named, stay as they are: [Tuner.Undo] leaves them, and the journal has
// them as kept. Groups stand for their members. The error says what was never turned here, or why nothing could be
// written down, in which case nothing is kept.
func (t *Tuner) Keep(knobs ...string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	keys, err := t.named(knobs)
	if err != nil || len(keys) == 0 {
		return err
	}
	if t.log == nil || t.log.session == nil {
		t.forget(keys)
		return nil
	}
	g := t.log
	g.begin(context.Background())
	defer g.end()
	if g.err != nil {
		return g.err
	}
	snaps, err := t.readAll(context.Background())
	if err != nil {
		return err
	}
	var lines []line
	for _, k := range keys {
		_, now, ok := locate(snaps, k.side, k.name)
		if !ok {
			return fmt.Errorf("%s is no longer there; nothing is kept", knob.Short(k.name))
		}
		ln := g.line(opKept, k.name)
		it := item{k.name, g.first(t.first[k]), readingOf(now)}
		if e := g.entry(k.name); e != nil && e.kept != nil {
			it.First = e.kept.first
		}
		if !it.valid(opKept, ln.Where) {
			return fmt.Errorf("%s is %.40q, which could not be put back later; nothing is kept", knob.Short(k.name), now.Value)
		}
		lines = addItem(lines, ln, it)
	}
	if err := g.append(lines...); err != nil {
		return err
	}
	t.forget(keys)
	return nil
}

// named finds the knobs among those that were moved.
func (t *Tuner) named(knobs []string) ([]key, error) {
	if len(knobs) == 0 {
		return slices.Clone(t.order), nil
	}
	var keys []key
	for _, name := range knobs {
		n := len(keys)
		for _, k := range t.order {
			if k.name == name || slices.Contains(knob.Members(name), k.name) {
				keys = append(keys, k)
			}
		}
		if len(keys) == n {
			return nil, fmt.Errorf("%s was not turned here", knob.Short(name))
		}
	}
	return keys, nil
}
