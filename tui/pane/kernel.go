package pane

import "github.com/ethtune/ethtune/engine/metric"

// firstJitter is how many seconds of traffic the first jitter may take: until then its chart is not given up.
const firstJitter = 1.0

// wholeSecond is from how many seconds on a second is over: ten Frames of a tenth are short of one by rounding.
const wholeSecond = 0.999

// perSecond gathers a count into samples of a second each.
type perSecond struct {
	n    metric.Num
	span float64 // s
}

// add takes a count of span seconds and returns the next sample, if it is full; an absent one where nothing was counted.
func (p *perSecond) add(n metric.Num, span float64) (rate metric.Num, ok bool) {
	p.n, p.span = p.n.Add(n), p.span+span
	if p.span < wholeSecond {
		return metric.Num{}, false
	}
	if v, counted := p.n.Get(); counted {
		rate = metric.N(v / p.span)
	}
	*p = perSecond{}
	return rate, true
}

// kernelsOwn takes what the sending kernel says of TCP, and decides whether the charts show it. A round trip of the probe
// is not of that kind.
func (s *Scope) kernelsOwn(f *metric.Frame) {
	rtt := metric.Num{}
	if f.RttFrom == metric.FromTCP {
		rtt = f.RttMs
	}
	s.rtt.add(f.T, rtt.Float()/1e3)
	if rate, ok := s.again.add(f.Retransmits, f.Span); ok {
		s.resent.add(f.T, rate.Float())
	}
	if !f.JitterMs.IsZero() {
		s.jittered = f.T
	}
	switch {
	case s.proto != metric.TCP, s.jittered == f.T:
		s.kernel = false
	case !s.kernel && !rtt.IsZero() && f.T-s.jittered > fresh:
		s.kernel = true
		// Nor may such a peer say what arrives, even if it did of UDP.
		s.rate = metric.Bandwidth{}
	}
}

// Follow takes over which protocol the load has now.
func (s *Scope) Follow(p metric.Proto) {
	s.proto = p
	if p != metric.TCP {
		s.kernel = false
	}
}
