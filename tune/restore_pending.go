package tune

import (
	"context"
	"errors"
	"time"
)

// Pending is one knob in the journal: who turned it, from what, and whether that is something to put back here.
type Pending struct {
	Knob    string    `json:"knob"`
	Where   Where     `json:"where"`
	Kind    Kind      `json:"kind"`
	Session string    `json:"session"`
	PID     int       `json:"pid"` // it may be another process's by now, unless Alive
	Since   time.Time `json:"since"`
	First   string    `json:"first"`           // what was asked of the kernel before: the value to put back
	Wrote   string    `json:"wrote,omitempty"` // what was last read after a turn; empty if the session ended during its first
	Doubt   bool      `json:"doubt,omitempty"` // the session ended during a turn, which may have moved this knob or not

	Alive         bool `json:"alive"`          // the session runs, and puts it back itself
	SameBoot      bool `json:"same_boot"`      // else it is history, and nothing is there to put back
	SameNamespace bool `json:"same_namespace"` // this one, or the host's own; else it can be put back from there only
	DevicePresent bool `json:"device_present"` // the same device, under whatever name; true where there is none to be
	// Dev is what the device is called now; empty where there is none.
	Dev string `json:"dev,omitempty"`
}

// Here reports whether the knob can be reached from where the question was asked.
func (p Pending) Here() bool { return p.SameBoot && p.SameNamespace && p.DevicePresent }

// Entries lists what the journal knows, in the order in which it came: what living sessions have turned, what dead ones
// left, and what is kept. An error that is [ErrDamaged] or [ErrTorn] comes with the list; any other in its place. The calling thread's
// namespace is the one that counts.
func (j *Journal) Entries() ([]Pending, error) {
	l, err := j.lock(context.Background())
	if err != nil {
		return nil, err
	}
	defer l.unlock()
	eye := newEye(j)
	var list []Pending
	for _, e := range l.book.order {
		p, err := eye.pending(e)
		if err != nil {
			return nil, err
		}
		if k := e.kept; k != nil {
			p := p
			p.Kind, p.Session, p.PID, p.Since = KindKept, k.session, k.pid, k.at
			p.First, p.Wrote = k.first.request(), k.got.Value
			list = append(list, p)
		}
		for _, h := range e.holds {
			p.Kind, p.Session, p.PID, p.Since = KindSession, h.session, h.pid, h.at
			p.First, p.Wrote = e.first.request(), e.got.Value
			p.Alive, p.Doubt = l.alive(h.session), h.doubtful()
			list = append(list, p)
		}
	}
	return list, l.book.damage()
}

// Stale is [Journal.Entries] without those of living sessions: what [Journal.Restore] would look at.
func (j *Journal) Stale() ([]Pending, error) {
	list, err := j.Entries()
	if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrTorn) {
		return nil, err
	}
	var stale []Pending
	for _, p := range list {
		if !p.Alive {
			stale = append(stale, p)
		}
	}
	return stale, err
}

func (r reading) request() string {
	if r.Wanted != "" {
		return r.Wanted
	}
	return r.Value
}

// eye looks at the devices of this namespace, at each once.
type eye struct {
	look func(int) (Where, error)
	seen map[int]Where
}

func newEye(j *Journal) *eye { return &eye{j.look, make(map[int]Where)} }

// pending says what of the entry's place is still there.
func (y *eye) pending(e *entry) (Pending, error) {
	w := e.spot.where
	now, ok := y.seen[w.Index]
	if !ok {
		var err error
		if now, err = y.look(w.Index); err != nil {
			return Pending{}, err
		}
		y.seen[w.Index] = now
	}
	p := Pending{Knob: e.spot.knob, Where: e.where()}
	p.SameBoot = w.Boot == now.Boot
	p.SameNamespace = p.SameBoot && (w.NS == "" || w.NS == now.NS)
	p.DevicePresent = p.SameNamespace && (w.Index == 0 || w.Index == now.Index && w.Addr == now.Addr && w.Driver == now.Driver)
	if p.DevicePresent && w.Index > 0 {
		p.Dev = now.Dev
	}
	return p, nil
}
