package flow

import "math/bits"

// maxBatch is how many datagrams one system call carries (UIO_MAXIOV is 1024; beyond 64 nothing is gained).
const maxBatch = 64

// catchUp bounds what is sent at once after the thread was not run for a while, in nanoseconds of the rate; never less
// than one batch. What lies further back is given up and counted, instead of hitting the path as a burst.
const catchUp = 1_000_000

// schedule says how many datagrams are due. It is absolute: datagram n is due at a time computed from the start, so no
// rounding adds up and a late wake-up is made good by the next.
type schedule struct {
	t0     int64  // when datagram n0 is due, CLOCK_MONOTONIC ns
	n0     uint64 // the first datagram of this rate
	rate   int64  // bit/s; above 0
	unit   uint64 // ns*bit/s a datagram takes: its bits * 1e9
	burst  uint64 // bound of due
	missed uint64 // datagrams given up
}

// rebase starts a new line at now with datagram n.
func (s *schedule) rebase(now int64, n uint64, rate int64, size int) {
	s.t0, s.n0, s.rate = now, n, rate
	s.unit = uint64(size) * 8 * 1e9
	s.burst = max(maxBatch, muldiv(catchUp, uint64(max(rate, 1)), s.unit))
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
	if n > s.burst {
		s.missed += n - s.burst
		n = s.burst
		s.t0, s.n0 = now, sent+n-1
	}
	return n
}

// at is when datagram n is due.
func (s *schedule) at(n uint64) int64 {
	if n <= s.n0 {
		return s.t0
	}
	return s.t0 + int64(muldivUp(n-s.n0, s.unit, uint64(s.rate)))
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
