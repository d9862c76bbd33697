package iperf3

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/metric"
)

// A running test takes what its own senders do, and nothing that its sockets or the far end keep.
func TestInPlace(t *testing.T) {
	for name, c := range map[string]struct {
		old, want func(*metric.Spec)
		in        bool
	}{
		"same":              {in: true},
		"slower":            {old: rate(2e9), want: rate(1e9), in: true},
		"limited":           {want: rate(1e9), in: true},
		"unlimited":         {old: rate(1e9)}, // the kernel would go on pacing the socket
		"the far end's":     {old: mode(metric.ModeIn), want: func(s *metric.Spec) { s.Mode, s.RateBps = metric.ModeIn, 1e9 }},
		"direction":         {want: mode(metric.ModeIn)},
		"congestion":        {want: func(s *metric.Spec) { s.Near.Congestion = "reno" }},
		"copyless":          {want: func(s *metric.Spec) { s.NearCalls.Copy = metric.Vmsplice }},
		"batch and the CPU": {want: func(s *metric.Spec) { s.NearCalls.Batch, s.NearCalls.Affinity = 8, "0" }, in: true},
	} {
		old, want := metric.DefaultSpec(), metric.DefaultSpec()
		if c.old != nil {
			c.old(&old)
		}
		if c.want != nil {
			c.want(&want)
		}
		if inPlace(old, want) != c.in {
			t.Errorf("%s: in place %v", name, !c.in)
		}
	}
}

func rate(bps int64) func(*metric.Spec)     { return func(s *metric.Spec) { s.RateBps = bps } }
func mode(m metric.Mode) func(*metric.Spec) { return func(s *metric.Spec) { s.Mode = m } }

// Who watches is told that a load was interrupted to become another.
func TestReopeningIsTold(t *testing.T) {
	t.Parallel()
	s, _ := serve(t, "127.0.0.1", metric.Rules{})
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	c, err := Dial(background(t), s.Addr(), Options{}, dialect.Hooks{Note: note})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	drive(t, c, load(rate(2e9)))
	drive(t, c, load(rate(1e9)))
	drive(t, c, load(rate(0)))
	if want := []string{"streams reopened: tcp out"}; !slices.Equal(notes, want) {
		t.Errorf("it tells %q", notes)
	}
}
