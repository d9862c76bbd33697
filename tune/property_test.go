package tune

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/ethtune/ethtune/tune/internal/kernel/kerneltest"
	"github.com/ethtune/ethtune/tune/knob"
)

// randomPlan turns what the fake kernel has, groups and numbers too, good values and bad.
func randomPlan(rng *rand.Rand, have []knob.State) knob.Plan {
	var p knob.Plan
	for range 1 + rng.IntN(8) {
		s := knob.Setting{Knob: have[rng.IntN(len(have))].Knob, Value: []string{"on", "off"}[rng.IntN(2)]}
		switch s.Knob {
		case "dev.mtu":
			s.Value = strconv.Itoa(rng.IntN(10_000))
		case "dev.tx_queue_len":
			s.Value = strconv.Itoa(rng.IntN(10_000))
		}
		p = append(p, s)
	}
	return p
}

// TestUndoIsTheFirstSnapshot: whatever was turned, and however the card was found, undo gives back every value and every
// request, in one go.
func TestUndoIsTheFirstSnapshot(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 2026))
		host := kerneltest.New()
		host.SmallTSO = []uint32{0, 1500}[rng.IntN(2)]
		before := fake(host)
		have, err := before.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		apply(t, before, randomPlan(rng, have)...) // an earlier session leaves the card in some state

		tuner := fake(host)
		found := states(t, tuner)
		for range 1 + rng.IntN(4) {
			for _, r := range apply(t, tuner, randomPlan(rng, have)...) {
				if r.Outcome == knob.Unchanged && len(r.Undo) != 0 {
					t.Fatalf("seed %d: unchanged with an undo: %+v", seed, r)
				}
			}
		}
		if _, err := tuner.Undo(t.Context()); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		sameStates(t, found, states(t, tuner))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestEveryTurnCanBeTakenBack: the Undo of a Result puts back what that turn moved, also where the write failed half way.
func TestEveryTurnCanBeTakenBack(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 30))
		host := kerneltest.New()
		tuner := fake(host)
		have, err := tuner.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		apply(t, tuner, randomPlan(rng, have)...)
		found := states(t, tuner)
		if rng.IntN(4) == 0 {
			host.Fail = map[string]error{"features": errors.New("device reset failed")}
		}
		r := apply(t, tuner, randomPlan(rng, have)[0])[0]
		host.Fail = nil
		apply(t, tuner, r.Undo...)
		sameStates(t, found, states(t, tuner))
		if t.Failed() {
			t.Fatalf("seed %d: %+v", seed, r)
		}
	}
}
