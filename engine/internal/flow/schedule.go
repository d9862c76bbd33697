package flow

import "math/bits"

// maxBatch is how many datagrams one system call carries (UIO_MAXIOV is 1024; beyond 64 nothing is gained).
const maxBatch = 64

const (
	// burstTime bounds what is sent at once after the thread was not run for a while, in nanoseconds of the rate; never less
	// than one batch. What is due beyond it follows at [catchUp] times the rate, so that it does not hit the path as a burst.
	burstTime = 1_000_000
	catchUp   = 2
	// owedTime bounds what is made good at all, in nanoseconds of the rate: some time slices of other processes. What lies
	// further back is given up and counted.
	owedTime = 20_000_000
)

// schedule says how many datagrams are due. It is absolute: datagram n is due at a time computed from the start, so no
// rounding adds up and a late wake-up is made good by the next.
type schedule struct {
	t0     int64  // when datagram n0 is due, CLOCK_MONOTONIC ns
	n0     uint64 // the first datagram of this rate
	rate   int64  // bit/s; above 0
	unit   uint64 // ns*bit/s a datagram takes: its bits * 1e9
	burst  uint64 // datagrams at once
	owed   uint64 // datagrams made good; at least burst
	missed uint64 // datagrams given up

	late  bool   // more than burst was due at since, when from were sent
	since int64  // CLOCK_MONOTONIC ns
	from  uint64 // datagrams
}

// rebase starts a new line at now with datagram n.
func (s *schedule) rebase(now int64, n uint64, rate int64, size int) {
	s.t0, s.n0, s.rate, s.late = now, n, rate, false
	s.unit = uint64(size) * 8 * 1e9
	s.burst = max(maxBatch, muldiv(burstTime, uint64(rate), s.unit))
	s.owed = max(s.burst, muldiv(owedTime, uint64(rate), s.unit))
}

// due is how many datagrams from sent on are to be sent at now.
func (s *schedule) due(now int64, sent uint64) uint64 {
	if now < s.t0 {
		return 0
	}
	target := s.n0 + muldiv(uint64(now-s.t0), uint64(s.rate), s.unit) + 1
	if target <= sent {
		return 0
	}
	n := target - sent
	if n > s.owed {
		s.missed += n - s.owed
		n = s.owed
		s.t0, s.n0 = now, sent+n-1
	}
	if n <= s.burst {
		s.late = false
		return n
	}
	if !s.late {
		s.late, s.since, s.from = true, now, sent
	}
	// The datagrams that may have been sent by now, at catchUp times the rate.
	may := s.from + s.burst + muldiv(uint64(max(0, now-s.since)), catchUp*uint64(s.rate), s.unit)
	return min(n, may-min(may, sent))
}

// at is when datagram n is to be sent.
func (s *schedule) at(n uint64) int64 {
	at := s.t0
	if n > s.n0 {
		at += int64(muldivUp(n-s.n0, s.unit, uint64(s.rate)))
	}
	if next := s.from + s.burst; s.late && n >= next {
		at = max(at, s.since+int64(muldivUp(n-next+1, s.unit, catchUp*uint64(s.rate))))
	}
	return at
}

// muldiv is a*b/c rounded down, and the largest number where that does not fit.
func muldiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return 1<<63 - 1
	}
	q, _ := bits.Div64(hi, lo, c)
	return q
}

// muldivUp is muldiv rounded up.
func muldivUp(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return 1 << 62
	}
	q, r := bits.Div64(hi, lo, c)
	if r > 0 {
		q++
	}
	return q
}
