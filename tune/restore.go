package tune

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ethtune/ethtune/tune/knob"
)

// RestoreOptions says what is to be put back and how.
type RestoreOptions struct {
	Knobs   []string // canonical names, groups for their members; none = all
	DryRun  bool     // only say what would be done
	Force   bool     // also what somebody else has changed since
	KeptToo bool     // also what was kept, which is what a user asks for who asks for it
}

// Opener opens the families that have the knobs of a device in the calling thread's network namespace, or, for the empty
// name, those that belong to the namespace and to the host. The func lets go of them.
type Opener = func(dev string) ([]Family, func() error, error)

// Restore puts back what dead sessions have left, and with KeptToo what was kept: in the order of [knob.Rank], verified by
// reading again. It returns a Result for each knob that did not stand as it was before. What belongs to another boot, to
// another namespace or to a device that is gone is left alone, and what a living session has turned too is left to it.
//
// A value that is no longer the one that was written is somebody else's: it is left, refused with that reason, unless
// Force is set. A kept value that a living session has turned too cannot be put back: that session goes back to what is
// kept. The error is ErrNotRestored for these and for what the kernel refused; all stay in the journal. It is [ErrDamaged]
// or [ErrTorn] as well where lines could not be understood, which are forgotten now; the file with the damaged ones stays,
// and the error says where.
func (j *Journal) Restore(ctx context.Context, opts RestoreOptions, open Opener) ([]knob.Result, error) {
	l, err := j.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer l.unlock()
	r := &restorer{ledger: l, opts: opts, open: open, here: make(map[*entry]string)}
	damaged := l.book.damage()
	if err := r.all(ctx, newEye(j)); err != nil {
		return r.results, errors.Join(err, damaged)
	}
	left := notRestored(r.results, context.Cause(ctx))
	if opts.DryRun {
		return r.results, damaged
	}
	flaws := len(l.book.flaws)
	noted := l.conclude(true, r.free)
	if noted != nil {
		noted = fmt.Errorf("journal %s: put back, but not noted: %s", j.name, oneLine(noted))
	}
	if flaws > 0 && len(l.book.flaws) == 0 {
		damaged = fmt.Errorf("%w; the file is now %s/%s", damaged, j.name, damagedName)
	}
	return r.results, errors.Join(left, noted, damaged)
}

// restorer is one Restore under way.
type restorer struct {
	ledger  *ledger
	opts    RestoreOptions
	open    Opener
	here    map[*entry]string // what can be reached from here, and the device that it belongs to
	results []knob.Result
	free    []line // what is to be noted at the end
}

// all goes from device to device; what belongs to none comes first.
func (r *restorer) all(ctx context.Context, eye *eye) error {
	byDev := make(map[string][]*entry)
	var devs []string
	for _, e := range r.ledger.book.order {
		p, err := eye.pending(e)
		if err != nil {
			return err
		}
		if !p.Here() {
			continue
		}
		r.here[e] = p.Dev
		if !r.chosen(e) {
			continue
		}
		if byDev[p.Dev] == nil {
			devs = append(devs, p.Dev)
		}
		byDev[p.Dev] = append(byDev[p.Dev], e)
	}
	slices.Sort(devs)
	for _, dev := range devs {
		r.device(ctx, dev, byDev[dev])
	}
	return nil
}

// chosen reports whether anything of the entry is to be put back.
func (r *restorer) chosen(e *entry) bool {
	named := len(r.opts.Knobs) == 0 || slices.ContainsFunc(r.opts.Knobs, func(name string) bool {
		return name == e.spot.knob || slices.Contains(knob.Members(name), e.spot.knob)
	})
	dead := slices.ContainsFunc(e.holds, r.dead)
	return named && (dead || r.opts.KeptToo && e.kept != nil)
}

func (r *restorer) alive(h hold) bool { return r.ledger.alive(h.session) }

func (r *restorer) dead(h hold) bool { return !r.alive(h) }

// device puts back what belongs to one device, or to none.
func (r *restorer) device(ctx context.Context, dev string, entries []*entry) {
	before := len(r.results)
	defer func() {
		for i := before; i < len(r.results); i++ {
			r.results[i].Dev = dev
		}
	}()
	families, release, err := r.open(dev)
	if err != nil {
		r.fail(entries, reason(err))
		return
	}
	defer release()
	t := New(families...)
	snaps, unread := t.readAll(ctx)
	put := make(map[key]*entry)
	for _, e := range entries {
		if k, ok := r.weigh(t, e, snaps, unread); ok {
			put[k] = e
		}
	}
	if r.opts.DryRun {
		r.wouldDo(t, snaps)
		return
	}
	r.doubt(put)
	results := t.putBack(ctx)
	t.excuse(ctx, results, func(name string) bool {
		i := slices.IndexFunc(entries, func(e *entry) bool { return e.spot.knob == name })
		return r.first(entries[i]).Loose || r.ledger.taken(entries[i].spot.where, r.alive)
	})
	r.results = append(r.results, results...)
	after, _ := t.readAll(context.WithoutCancel(ctx)) // what cannot be read is as it was, as far as anybody knows
	drifted := r.ledger.drifted(snaps, after, func(e *entry) bool {
		at, here := r.here[e]
		return here && at == dev && !slices.Contains(slices.Collect(maps.Values(put)), e)
	})
	r.free = append(drifted, r.free...) // before a dead session's hold ends, for it would begin another
	for k, e := range put {
		if !slices.Contains(t.order, k) {
			r.release(e)
		}
	}
}

// first is what the entry goes back to.
func (r *restorer) first(e *entry) reading {
	if r.opts.KeptToo && e.kept != nil {
		return e.kept.first
	}
	return e.first
}

// weigh decides about one entry: to put it back, which it tells the Tuner, to leave it, or that nothing is to be done.
func (r *restorer) weigh(t *Tuner, e *entry, snaps []snapshot, unread error) (key, bool) {
	first := r.first(e)
	res := knob.Result{Setting: knob.Setting{Knob: e.spot.knob, Value: first.request()}}
	state, ok := anySide(snaps, e.spot.knob)
	switch {
	case !ok && unread != nil:
		r.results = append(r.results, refuse(res, oneLine(unread)))
		return key{}, false
	case !ok:
		r.results = append(r.results, refuse(res, "not to be seen from here"))
		return key{}, false
	}
	k := keyOf(state)
	res.Side, res.From, res.Got = state.Side, state.Value, state.Value
	if state.Fixed != "" && !first.back(state) {
		res.Denied = state.Fixed == knob.NeedsAdmin
		r.results = append(r.results, refuse(res, state.Fixed))
		return key{}, false
	}
	want := state
	want.Value, want.Wanted = first.Value, first.Wanted
	if h := r.ledger.other(e, ""); h != nil {
		if r.opts.KeptToo && e.kept != nil {
			res = refuse(res, fmt.Sprintf("pid %d has turned it too; run knob restore again when it has ended", h.pid))
		} else {
			res = leftTo(k, want, state.Value, *h)
		}
		r.results = append(r.results, res)
		if !r.opts.DryRun {
			r.free = freeHolds(r.free, e, r.dead)
		}
		return key{}, false
	}
	if why := r.foreign(e, first, state); why != "" {
		r.results = append(r.results, refuse(res, why))
		return key{}, false
	}
	t.first[k] = want
	t.order = append(t.order, k)
	return k, true
}

// foreign says why the entry is not to be written, or nothing.
func (r *restorer) foreign(e *entry, first reading, now knob.State) string {
	if first.back(now) {
		return ""
	}
	if value, err := knob.Canonical(now.Knob, first.request()); err != nil || value != first.request() {
		return fmt.Sprintf("was %.60s, which is no value to write: put it back by hand", first.request())
	}
	if e.ours(now) || r.opts.Force {
		return ""
	}
	return fmt.Sprintf("now %s, left at %s by ethtune: changed by somebody else (--force puts it back)", requested(now), e.got.request())
}

// doubt writes down that the entries may move now: a restore that dies half way leaves values that nobody asked for. Where
// that cannot be written the way back is more urgent.
func (r *restorer) doubt(put map[key]*entry) {
	var lines []line
	for _, e := range put {
		var by holder
		if i := slices.IndexFunc(e.holds, r.dead); i >= 0 {
			by = e.holds[i].holder
		} else {
			by = e.kept.holder
		}
		ln := line{Op: opTurn, Session: by.session, PID: by.pid, At: by.at, Turn: 1, Where: e.where()}
		lines = addItem(lines, ln, item{Knob: e.spot.knob, First: e.first})
	}
	_ = r.ledger.append(lines...)
}

// release notes that the entry is back.
func (r *restorer) release(e *entry) {
	r.free = freeHolds(r.free, e, r.dead)
	if r.opts.KeptToo && e.kept != nil {
		r.free = addFree(r.free, e, e.kept.holder, KindKept)
	}
}

// wouldDo tells what undo would write: unchanged, with no reason to leave it so.
func (r *restorer) wouldDo(t *Tuner, snaps []snapshot) {
	for _, s := range t.astray(snaps) {
		_, now, _ := locate(snaps, s.Side, s.Knob)
		r.results = append(r.results, knob.Result{Setting: s, From: now.Value, Got: now.Value,
			Outcome: knob.Unchanged})
	}
}

func (r *restorer) fail(entries []*entry, why string) {
	for _, e := range entries {
		res := knob.Result{Setting: knob.Setting{Knob: e.spot.knob, Value: e.first.request()}}
		r.results = append(r.results, refuse(res, why))
	}
}
