package native

import (
	"cmp"
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

// Sockets that the kernel paced are not kept for a load that it is not to pace.
func TestPacedSocketsAreNotKept(t *testing.T) {
	bbr := metric.GrantedSocket{Congestion: "bbr"}
	for _, c := range []struct {
		name      string
		proto     metric.Proto
		mode      metric.Mode
		rate      int64 // before
		near, far metric.GrantedSocket
		want      func(*metric.Spec)
		keep      bool
	}{
		{name: "slower", rate: 2e9, want: func(s *metric.Spec) { s.RateBps = 1e9 }, keep: true},
		{name: "unlimited", rate: 1e9, want: func(s *metric.Spec) { s.RateBps = 0 }},
		{name: "limited", want: func(s *metric.Spec) { s.RateBps = 1e9 }, keep: true},
		{name: "udp unlimited", proto: metric.UDP, rate: 1e9, want: func(s *metric.Spec) { s.RateBps = 0 }, keep: true},
		{name: "bbr to cubic", near: bbr, want: func(s *metric.Spec) { s.Near.Congestion = "cubic" }},
		{name: "bbr to bbr2", near: bbr, want: func(s *metric.Spec) { s.Near.Congestion = "bbr2" }, keep: true},
		{name: "cubic to bbr", want: func(s *metric.Spec) { s.Near.Congestion = "bbr" }, keep: true},
		{name: "bbr to limited cubic", near: bbr, want: func(s *metric.Spec) { s.Near.Congestion, s.RateBps = "cubic", 1e9 }, keep: true},
		{name: "unlimited bbr", rate: 1e9, near: bbr, want: func(s *metric.Spec) { s.RateBps = 0 }, keep: true},
		{name: "the receiver's", far: bbr, want: func(s *metric.Spec) { s.Far.Congestion = "cubic" }, keep: true},
		{name: "the far sender's", mode: metric.ModeIn, far: bbr, want: func(s *metric.Spec) { s.Far.Congestion = "cubic" }},
	} {
		old := metric.Spec{Proto: cmp.Or(c.proto, metric.TCP), Mode: cmp.Or(c.mode, metric.ModeOut), Streams: 1, RateBps: c.rate}
		want := old
		c.want(&want)
		have := []stream{{Opened: Opened{ID: 1, Near: c.near, Far: c.far}, dir: old.Mode.Dirs()[0]}}
		if p := plan(old, have, want, false); p.reopen == c.keep {
			t.Errorf("%s: reopen %v", c.name, p.reopen)
		}
	}
}
