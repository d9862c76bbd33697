package dialect

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

func guest(kicked *[]string) *Guest {
	return &Guest{Dialect: "native", Peer: "192.0.2.1:1", Load: &flow.Ledger{},
		Kick: func(reason string) { *kicked = append(*kicked, reason) }}
}

func TestHouseIsFull(t *testing.T) {
	var events, kicked []string
	h := &House{Rules: metric.Rules{Sessions: 2}, Told: func(g metric.Guest) { events = append(events, g.Event) }}
	a, b := guest(&kicked), guest(&kicked)
	for _, g := range []*Guest{a, b} {
		if err := h.Enter(g); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Enter(guest(&kicked)); !errors.Is(err, ErrFull) {
		t.Errorf("a third of two came in: %v", err)
	}
	b.Describe(metric.UDP, metric.ModeIn, 3)
	seen := h.Guests()
	if len(seen) != 2 || seen[0].ID != 1 || seen[1].Streams != 3 || seen[1].Packets.IsZero() || !seen[0].Packets.IsZero() {
		t.Errorf("%+v", seen)
	}
	if !h.Kick(seen[0].ID, "enough") || h.Kick(77, "nobody") || !slices.Equal(kicked, []string{"enough"}) {
		t.Errorf("kicked %q", kicked)
	}
	a.Leave("")
	a.Leave("twice")
	if err := h.Enter(guest(&kicked)); err != nil {
		t.Errorf("no place after one left: %v", err)
	}
	if want := []string{"in", "in", "out", "in"}; !slices.Equal(events, want) {
		t.Errorf("events %q, want %q", events, want)
	}
}

// Whoever listens hears of nobody who has left.
func TestHouseTellsInOrder(t *testing.T) {
	here := make(map[int]bool) // guarded by the house
	h := &House{Rules: metric.Rules{Sessions: 8}, Told: func(g metric.Guest) {
		switch g.Event {
		case "in":
			here[g.ID] = true
		case "out":
			delete(here, g.ID)
		default:
			if !here[g.ID] {
				t.Errorf("guest %d is here after it left", g.ID)
			}
		}
	}}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				g := &Guest{Load: &flow.Ledger{}}
				if err := h.Enter(g); err != nil {
					t.Error(err)
					return
				}
				h.Tell()
				g.Leave("")
			}
		})
	}
	wg.Wait()
	if len(here) != 0 {
		t.Errorf("%d are left", len(here))
	}
}

func TestHouseServesOnce(t *testing.T) {
	var kicked []string
	h := &House{Rules: metric.Rules{Once: true}}
	g := guest(&kicked)
	if err := h.Enter(g); err != nil {
		t.Fatal(err)
	}
	g.Leave("")
	if err := h.Enter(guest(&kicked)); !errors.Is(err, ErrFull) {
		t.Errorf("a second came in: %v", err)
	}
}

func TestHouseClosesInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kicked := make(chan string, 1)
		h := &House{Rules: metric.Rules{Time: time.Minute}}
		g := &Guest{Load: &flow.Ledger{}, Kick: func(reason string) { kicked <- reason }}
		if err := h.Enter(g); err != nil {
			t.Fatal(err)
		}
		from := time.Now()
		if reason := <-kicked; reason == "" || time.Since(from) != time.Minute {
			t.Errorf("%q after %v", reason, time.Since(from))
		}
		g.Leave("time")
	})
}

func TestNearOnly(t *testing.T) {
	both := metric.Calls{Copy: metric.Vmsplice, SkipCopy: true}
	placed := both
	placed.Affinity = "1"
	for i, c := range []struct {
		near, far metric.Calls
		ok        bool
	}{
		{metric.Calls{}, metric.Calls{}, true},
		{placed, metric.Calls{}, true},
		{placed, both, true},
		{both, placed, false},
		{metric.Calls{}, both, false},
	} {
		s, err := NearOnly(metric.Spec{NearCalls: c.near, FarCalls: c.far}, "no words for it")
		if (err == nil) != c.ok || c.ok && (s.NearCalls != c.near || s.FarCalls != metric.Calls{}) || !c.ok && !errors.Is(err, ErrCannot) {
			t.Errorf("%d: %+v %v", i, s, err)
		}
	}
}
