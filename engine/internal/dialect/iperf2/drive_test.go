package iperf2

import (
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
)

// What a running load can take keeps its connections.
func TestPlan(t *testing.T) {
	for name, c := range map[string]struct {
		old, want     func(*metric.Spec)
		keep, surplus int
	}{
		"same":      {keep: 2},
		"slower":    {old: func(s *metric.Spec) { s.RateBps = 2e9 }, want: func(s *metric.Spec) { s.RateBps = 1e9 }, keep: 2},
		"limited":   {want: func(s *metric.Spec) { s.RateBps = 1e9 }, keep: 2},
		"unlimited": {old: func(s *metric.Spec) { s.RateBps = 1e9 }, surplus: 2}, // the kernel would go on pacing the sockets
		"fewer":     {want: func(s *metric.Spec) { s.Streams = 1 }, keep: 1, surplus: 1},
		"turned":    {want: func(s *metric.Spec) { s.Mode = metric.ModeIn }, surplus: 2},
		"size":      {want: func(s *metric.Spec) { s.Size = 9000 }, surplus: 2},
	} {
		old := metric.DefaultSpec()
		old.Streams = 2
		if c.old != nil {
			c.old(&old)
		}
		want := old
		want.RateBps = 0
		if c.want != nil {
			c.want(&want)
		}
		keep, surplus := plan(old, []*stream{{}, {}}, want, false)
		if len(keep) != c.keep || len(surplus) != c.surplus {
			t.Errorf("%s: keep %d, surplus %d", name, len(keep), len(surplus))
		}
	}
}
