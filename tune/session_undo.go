package tune

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ethtune/ethtune/tune/knob"
)

// undoJournaled is Undo of what the journal says this session answers for. Without the journal it goes by memory: putting
// back is more urgent than writing down.
func (t *Tuner) undoJournaled(ctx context.Context) ([]knob.Result, error) {
	g := t.log
	g.begin(context.WithoutCancel(ctx))
	defer g.end()
	if g.err != nil {
		if len(t.order) == 0 {
			return nil, nil
		}
		results := t.putBack(ctx)
		return results, errors.Join(notRestored(results, context.Cause(ctx)), g.err)
	}
	before := t.recall(ctx)
	mine := slices.Clone(t.order)
	left := t.leave(before)
	foreign := t.spare(before)
	// An undo that dies half way leaves values that nobody asked for, as a turn does. Where that cannot be written the way
	// back is more urgent.
	_ = g.append(g.doubt(t.order)...)
	results := t.putBack(ctx)
	for _, r := range foreign {
		t.order = append(t.order, key{r.Side, r.Knob}) // for the next Undo, as what the kernel refuses
	}
	results = append(results, foreign...)
	clear(g.seen)
	t.excuse(ctx, results, func(name string) bool {
		e := g.entry(name)
		return e != nil && e.first.Loose || g.ledger.taken(g.where.place(name), g.others)
	})
	err := notRestored(results, context.Cause(ctx))
	after, _ := t.readAll(context.WithoutCancel(ctx)) // what cannot be read is as it was, as far as anybody knows
	lines := g.ledger.drifted(before, after, func(e *entry) bool {
		toUs := func(k key) bool { return k.name == e.spot.knob }
		return e.spot.where == g.where.place(e.spot.knob) && (!slices.ContainsFunc(mine, toUs) || isLeft(left, e.spot.knob))
	})
	lines = append(lines, t.settled(mine, left)...)
	noted := g.append(lines...)
	if noted != nil && g.ledger.conclude(false, lines) != nil {
		err = errors.Join(err, fmt.Errorf("put back, but not noted: %s", oneLine(noted)))
	}
	return append(results, left...), err
}

// doubt is lines that say of all the knobs that they may move now.
func (g *logbook) doubt(keys []key) (lines []line) {
	g.turn = int(g.session.turn.Add(1))
	for _, k := range keys {
		if e := g.entry(k.name); e != nil && e.hold(g.session.id) != nil {
			ln := g.line(opTurn, k.name)
			ln.Turn = g.turn
			lines = addItem(lines, ln, item{Knob: k.name, First: e.first})
		}
	}
	return lines
}

// settled is lines that say what is no longer held: what is back, and what is left to others. What is not back stays in
// doubt.
func (t *Tuner) settled(mine []key, left []knob.Result) (lines []line) {
	g := t.log
	for _, k := range mine {
		e := g.entry(k.name)
		if e == nil || slices.Contains(t.order, k) {
			continue
		}
		toOther := isLeft(left, k.name)
		lines = freeHolds(lines, e, func(h hold) bool {
			return h.session == g.session.id || !toOther && !g.ledger.alive(h.session)
		})
	}
	return lines
}

func isLeft(left []knob.Result, name string) bool {
	return slices.ContainsFunc(left, func(r knob.Result) bool { return r.Knob == name })
}

// drifted is lines that say, of what others answer for, how it stands now where putting back ours has moved it: else they
// would take it for somebody else's. which says what entries count.
func (l *ledger) drifted(before, after []snapshot, which func(*entry) bool) (lines []line) {
	for _, e := range l.book.order {
		was, ok := anySide(before, e.spot.knob)
		is, there := anySide(after, e.spot.knob)
		if !ok || !there || requested(was) == requested(is) || !e.ours(was) || e.doubtful() || !which(e) {
			continue
		}
		for _, h := range e.holds {
			ln := line{Op: opHeld, Session: h.session, PID: h.pid, At: h.at, Where: e.where()}
			if it := (item{e.spot.knob, e.first, readingOf(is)}); it.valid(opHeld, ln.Where) {
				lines = addItem(lines, ln, it)
			}
		}
	}
	return lines
}

// recall takes over what the journal knows better: originals that somebody has kept another value over meanwhile, and
// knobs that a turn may have moved whose end nobody saw. It returns the families as they are now.
func (t *Tuner) recall(ctx context.Context) []snapshot {
	g := t.log
	snaps, _ := t.readAll(context.WithoutCancel(ctx)) // what cannot be read is not recalled, and undo says why
	for _, e := range g.ledger.book.order {
		if e.hold(g.session.id) == nil || e.spot.where != g.where.place(e.spot.knob) {
			continue
		}
		state, ok := anySide(snaps, e.spot.knob)
		if !ok {
			continue
		}
		k := keyOf(state)
		if _, known := t.first[k]; !known {
			t.order = append(t.order, k)
		}
		state.Value, state.Wanted = e.first.Value, e.first.Wanted
		t.first[k] = state
	}
	return snaps
}

// spare takes from what is to be put back all that somebody else has changed since, who is in no journal of ours: it is
// theirs now. It stays in t.first.
func (t *Tuner) spare(now []snapshot) (spared []knob.Result) {
	g := t.log
	t.order = slices.DeleteFunc(t.order, func(k key) bool {
		_, state, ok := locate(now, k.side, k.name)
		e := g.entry(k.name)
		if !ok || e == nil || e.hold(g.session.id) == nil || e.first.back(state) || e.ours(state) {
			return false
		}
		r := knob.Result{Setting: knob.Setting{Side: k.side, Knob: k.name, Value: requested(t.first[k])}, From: state.Value, Got: state.Value}
		spared = append(spared, refuse(r, fmt.Sprintf("found %s, which is not ours: left", requested(state))))
		return true
	})
	return spared
}

// anySide finds the knob without knowing the side that its family gives it.
func anySide(snaps []snapshot, name string) (knob.State, bool) {
	for _, snap := range snaps {
		for _, s := range snap.states {
			if s.Knob == name {
				return s, true
			}
		}
	}
	return knob.State{}, false
}

// leave takes from what is to be put back all that another living session has turned too, and says so.
func (t *Tuner) leave(now []snapshot) []knob.Result {
	var (
		left []knob.Result
		keys []key
	)
	for _, k := range t.order {
		other := t.log.ledger.other(t.log.entry(k.name), t.log.session.id)
		if other == nil {
			continue
		}
		keys = append(keys, k)
		_, state, _ := locate(now, k.side, k.name) // one that is gone, or cannot be read, has no value to show
		left = append(left, leftTo(k, t.first[k], state.Value, *other))
	}
	t.forget(keys)
	return left
}

// leftTo is a knob that stays at the value which it has now.
func leftTo(k key, first knob.State, value string, other hold) knob.Result {
	return knob.Result{
		Setting: knob.Setting{Side: k.side, Knob: k.name, Value: requested(first)},
		From:    value, Got: value,
		Outcome: knob.Unchanged,
		Reason:  fmt.Sprintf("pid %d has turned it too and puts it back when it ends", other.pid),
	}
}

// excuse makes a knob one that is left which has its request back, and not its value, where kept says that the value was
// or is the doing of what others have turned: what they do with that decides about the value.
func (t *Tuner) excuse(ctx context.Context, results []knob.Result, kept func(name string) bool) {
	var snaps []snapshot
	for i := range results {
		r := &results[i]
		if r.OK() || !kept(r.Knob) {
			continue
		}
		if snaps == nil {
			snaps, _ = t.readAll(context.WithoutCancel(ctx)) // what is not there is not excused
		}
		k := key{r.Side, r.Knob}
		if _, now, ok := locate(snaps, k.side, k.name); ok && requested(now) == r.Value {
			r.Outcome = knob.Unchanged
			r.Reason = fmt.Sprintf("requested %s again, and %s by what another session has turned", r.Value, now.Value)
			t.forget([]key{k})
		}
	}
}

// taken reports whether something at the place is kept, or held by a session that counts.
func (l *ledger) taken(place Where, counts func(hold) bool) bool {
	return slices.ContainsFunc(l.book.order, func(e *entry) bool {
		return e.spot.where == place && (e.kept != nil || slices.ContainsFunc(e.holds, counts))
	})
}

// others are the sessions beside this one, dead ones too: what they turned may still stand.
func (g *logbook) others(h hold) bool { return h.session != g.session.id }

// other is a living session that holds the knob beside the one called not, or nil.
func (l *ledger) other(e *entry, not string) *hold {
	if e == nil {
		return nil
	}
	for i, h := range e.holds {
		if h.session != not && l.alive(h.session) {
			return &e.holds[i]
		}
	}
	return nil
}

// freeHolds adds lines that end the holds on the knob which are over.
func freeHolds(lines []line, e *entry, over func(hold) bool) []line {
	for _, h := range e.holds {
		if over(h) {
			lines = addFree(lines, e, h.holder, KindSession)
		}
	}
	return lines
}

func addFree(lines []line, e *entry, by holder, kind Kind) []line {
	ln := line{Op: opFree, Session: by.session, PID: by.pid, At: now(), Where: e.where(), Kind: kind}
	return addItem(lines, ln, item{Knob: e.spot.knob})
}

// addItem adds the item to the line that is like ln, or to ln as a new one.
func addItem(lines []line, ln line, it item) []line {
	for i := range lines {
		l := &lines[i]
		if l.Op == ln.Op && l.Session == ln.Session && l.Where == ln.Where && l.Kind == ln.Kind && len(l.Knobs) < maxItems {
			l.Knobs = append(l.Knobs, it)
			return lines
		}
	}
	ln.Knobs = []item{it}
	return append(lines, ln)
}
