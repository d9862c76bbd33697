package tune

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ethtune/ethtune/tune/knob"
)

// mortal is a family whose process dies at a write: just before it, or just after.
type mortal struct {
	Family
	life *int // writes left
	late bool
}

type death struct{}

func (m mortal) Write(ctx context.Context, s []knob.Setting) error {
	*m.life--
	if *m.life == 0 && !m.late {
		panic(death{})
	}
	err := m.Family.Write(ctx, s)
	if *m.life == 0 {
		panic(death{})
	}
	return err
}

// randomSession is one session of the random history.
type randomSession struct {
	*Session
	tuner *Tuner
	life  int
}

// do runs what may end in the process's death, and says whether it did.
func do(f func()) (died bool) {
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case death:
			died = true
		default:
			panic(r)
		}
	}()
	f()
	return false
}

func randomTurns(rng *rand.Rand, have []knob.State) knob.Plan {
	p := randomPlan(rng, have)
	for i := range p {
		if knob.Family(p[i].Knob) == "sysctl" {
			p[i].Value = strconv.Itoa(1 + rng.IntN(9999))
		}
	}
	return p
}

// TestWhateverHappensTheFirstIsBack: sessions come and go, turn the same knobs, end or die before a write or after one, and
// somebody restores meanwhile. When all are gone and restore has run, everything is as it was first.
func TestWhateverHappensTheFirstIsBack(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { history(t, seed) })
	}
}

func history(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 8))
	w := newWorld(t)
	w.host.SmallTSO = []uint32{0, 1500}[rng.IntN(2)]
	var have []knob.State
	for _, s := range w.states() {
		have = append(have, s)
	}
	slices.SortFunc(have, func(a, b knob.State) int { return strings.Compare(a.Knob, b.Knob) }) // for the seed's sake
	apply(t, New(w.families()...), randomTurns(rng, have)...)                                   // how it is found
	found := w.states()
	var alive []*randomSession
	end := func(i int, how string) {
		s := alive[i]
		alive = append(alive[:i], alive[i+1:]...)
		if how == "die" || do(func() {
			if _, err := s.tuner.Undo(t.Context()); err != nil {
				t.Errorf("undo: %v", err)
			}
		}) {
			kill(s.Session)
			return
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	for range 12 {
		switch n := rng.IntN(10); {
		case len(alive) == 0 || n == 0:
			s := &randomSession{life: 1 + rng.IntN(20)}
			s.Session, s.tuner = w.begin(KindSession)
			for i, f := range s.tuner.families {
				s.tuner.families[i] = mortal{f, &s.life, rng.IntN(2) == 0}
			}
			alive = append(alive, s)
		case n == 1:
			w.mustRestore(RestoreOptions{})
		case n == 2:
			end(rng.IntN(len(alive)), "die")
		case n == 3:
			end(rng.IntN(len(alive)), "undo")
		default:
			i := rng.IntN(len(alive))
			p := randomTurns(rng, have)
			if do(func() { apply(t, alive[i].tuner, p...) }) {
				end(i, "die")
			}
		}
	}
	for len(alive) > 0 {
		end(rng.IntN(len(alive)), []string{"die", "undo"}[rng.IntN(2)])
	}
	w.mustRestore(RestoreOptions{})
	w.same(found)
	if list := w.entries(); len(list) != 0 {
		t.Errorf("left in the journal: %+v", list)
	}
}
