package pane

import (
	"math"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
)

const (
	// speedLeast is the shortest time (s) that a speed is reckoned over: a record that comes at once after another, as one
	// that opens a session and the next report may, would give wild ones.
	speedLeast = 0.2
	// speedHolds is how long a speed is believed. Guests are told of each second; one that misses two is silent.
	speedHolds = 2500 * time.Millisecond
)

// speed is how fast the bytes of one guest move: the difference of two of its records over the time between them.
type speed struct {
	in, out float64 // bit/s received and sent by this end; NaN before there are two records

	seconds float64 // of the record that the next is compared with
	rx, tx  uint64
	seen    bool
	at      time.Time // when the newest record came
}

// add takes a record that came at the time at, and says how many bits moved since the one before. A record whose counts
// went back is where reckoning begins anew.
func (s *speed) add(g *metric.Guest, at time.Time) (in, out float64) {
	span := g.Seconds - s.seconds
	switch {
	case !s.seen, span < 0, g.RxBytes < s.rx, g.TxBytes < s.tx:
		s.in, s.out = math.NaN(), math.NaN()
	default:
		in, out = 8*float64(g.RxBytes-s.rx), 8*float64(g.TxBytes-s.tx)
		if span < speedLeast {
			s.at = at
			return in, out
		}
		s.in, s.out = in/span, out/span
	}
	s.seconds, s.rx, s.tx, s.seen, s.at = g.Seconds, g.RxBytes, g.TxBytes, true, at
	return in, out
}

// known reports whether there is a speed that still holds at the time at.
func (s *speed) known(at time.Time) bool { return s.in == s.in && at.Sub(s.at) <= speedHolds }
