package engine

import (
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
)

// TestDoubt runs four seconds of traffic past an interface.
func TestDoubt(t *testing.T) {
	const mbit = 1e6
	steady := func(v float64) func(int) metric.Num { return func(int) metric.Num { return metric.N(v) } }
	absent := func(int) metric.Num { return metric.Num{} }
	everyOther := func(v float64) func(int) metric.Num {
		return func(tick int) metric.Num {
			if tick%2 == 0 {
				return metric.Num{}
			}
			return metric.N(v)
		}
	}
	for name, c := range map[string]struct {
		dir     metric.Dir
		rx      func(tick int) metric.Num // bit/s
		counted func(tick int) metric.Num
		link    metric.Num
		want    string
	}{
		"as it should be":             {metric.In, steady(940 * mbit), steady(980 * mbit), metric.N(1000 * mbit), ""},
		"more than the link":          {metric.Out, steady(1200 * mbit), steady(1250 * mbit), metric.N(1000 * mbit), "more arrived than the link's 1000 Mbit/s can carry"},
		"no word of the link":         {metric.Out, steady(1200 * mbit), steady(1250 * mbit), metric.Num{}, ""},
		"counted less":                {metric.In, steady(900 * mbit), steady(600 * mbit), metric.Num{}, "the interface counted 33 % less than arrived"},
		"counted less on the way out": {metric.Out, steady(900 * mbit), steady(600 * mbit), metric.Num{}, "the interface counted 33 % less than arrived"},
		"counted more":                {metric.In, steady(100 * mbit), steady(900 * mbit), metric.Num{}, ""},
		"passes elsewhere":            {metric.In, steady(30_000 * mbit), steady(0.001 * mbit), metric.Num{}, ""},
		"not counted":                 {metric.In, steady(900 * mbit), absent, metric.Num{}, ""},
		"nothing known to arrive":     {metric.Out, absent, steady(600 * mbit), metric.Num{}, ""},
		"reports every other tick":    {metric.Out, everyOther(900 * mbit), steady(940 * mbit), metric.Num{}, ""},
		"every other and counted less": {metric.Out, everyOther(900 * mbit), steady(600 * mbit), metric.Num{},
			"the interface counted 33 % less than arrived"},
		"reported late": {metric.Out, func(tick int) metric.Num {
			if tick < 21 {
				return metric.N(900 * mbit)
			}
			return metric.N(0)
		}, func(tick int) metric.Num {
			if tick < 19 {
				return metric.N(940 * mbit)
			}
			return metric.N(0)
		}, metric.Num{}, ""},
		"a burst": {metric.In, func(tick int) metric.Num {
			if tick == 15 {
				return metric.N(9000 * mbit)
			}
			return metric.N(900 * mbit)
		}, steady(940 * mbit), metric.N(1000 * mbit), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var d doubt
			unheard := 0 // ticks that the next report covers as well
			for tick := range 40 {
				h := &metric.Host{Slow: &metric.HostSlow{LinkBps: c.link}}
				if n, ok := c.counted(tick).Get(); ok {
					h.NIC = &metric.NIC{TxBytes: uint64(n / 80)}
					if c.dir == metric.In {
						h.NIC = &metric.NIC{RxBytes: uint64(n / 80)}
					}
				}
				f := &metric.Frame{Dir: c.dir, Span: 0.1, RxBps: c.rx(tick)}
				if unheard++; !f.RxBps.IsZero() {
					f.RxSpan, unheard = metric.N(0.1*float64(unheard)), 0
				}
				d.judge([]*metric.Frame{f}, h)
				want := c.want
				if tick < 19 { // it has to last
					want = ""
				}
				if tick != 19 && tick != 20 && f.Suspect != want {
					t.Fatalf("tick %d: %q, want %q", tick, f.Suspect, want)
				}
			}
		})
	}
}

func TestHostIsToldOnce(t *testing.T) {
	var m meter
	h := &metric.Host{}
	frames := m.frames(reading{mono: second, spec: udpSpec(metric.ModeBoth), out: true, in: true, host: h})
	if len(frames) != 2 || frames[0].Host != h || frames[1].Host != nil {
		t.Errorf("%+v", frames)
	}
}
