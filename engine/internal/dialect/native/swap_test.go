package native

import (
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
)

func TestPlan(t *testing.T) {
	have := []stream{{Opened: Opened{ID: 1}, dir: metric.Out}, {Opened: Opened{ID: 2}, dir: metric.Out}}
	base := metric.Spec{Proto: metric.TCP, Mode: metric.ModeOut, Streams: 2}
	with := func(f func(*metric.Spec)) metric.Spec { s := base; f(&s); return s }
	for name, c := range map[string]struct {
		want                   metric.Spec
		keep, surplus, missing int
		reopen                 bool
	}{
		"same":    {base, 2, 0, 0, false},
		"rate":    {with(func(s *metric.Spec) { s.RateBps = 1e6 }), 2, 0, 0, false},
		"fewer":   {with(func(s *metric.Spec) { s.Streams = 1 }), 1, 1, 0, false},
		"more":    {with(func(s *metric.Spec) { s.Streams = 5 }), 2, 0, 3, false},
		"both":    {with(func(s *metric.Spec) { s.Mode = metric.ModeBoth }), 2, 0, 2, false},
		"turned":  {with(func(s *metric.Spec) { s.Mode = metric.ModeIn }), 0, 2, 2, false},
		"udp":     {with(func(s *metric.Spec) { s.Proto = metric.UDP }), 0, 2, 2, true},
		"buffers": {with(func(s *metric.Spec) { s.Far.RcvBuf = 1 << 20 }), 0, 2, 2, true},
	} {
		p := plan(base, have, c.want, false)
		if len(p.keep) != c.keep || len(p.surplus) != c.surplus || len(p.missing) != c.missing || p.reopen != c.reopen {
			t.Errorf("%s: keep %d, surplus %d, missing %d, reopen %v", name, len(p.keep), len(p.surplus), len(p.missing), p.reopen)
		}
	}
}
