package flow

import "math/bits"

const (
	// writeSpan is how much of a paced stream one write holds, in nanoseconds, where that is less than the whole buffer.
	writeSpan = 1_000_000
	// leastWrite is the fewest bytes of such a write: a segment of an Ethernet.
	leastWrite = 1448
	// maxDebt bounds what a paced stream makes good after it could not send, in nanoseconds of its rate.
	maxDebt = 100_000_000
)

// allowance is how many bytes a paced TCP stream may have written by now. The kernel's pacing smooths what is written, but
// does not make good what a late timer cost it: where the processors are busy it fell 6 % short of 100 Mbit/s. So it is
// given twice the rate, and this schedule keeps the mean. The zero allowance has no bound.
type allowance struct {
	rate    int64 // bit/s of payload; 0 = no bound
	start   int64 // CLOCK_MONOTONIC ns
	written uint64
}

// aim begins anew at now with the rate bps.
func (a *allowance) aim(now, bps int64) { *a = allowance{rate: bps, start: now} }

// left is how many bytes may be written at now, of a buffer of size; 0 means none before the time that comes with it.
func (a *allowance) left(now int64, size int) (n int, until int64) {
	if a.rate == 0 {
		return size, now
	}
	chunk := min(size, max(leastWrite, int(a.bytes(writeSpan))))
	if debt := a.bytes(now-a.start) - min(a.written, a.bytes(now-a.start)); debt > a.bytes(maxDebt)+uint64(chunk) {
		a.aim(now-maxDebt, a.rate)
	}
	// The write is due when its first byte is.
	if at := a.start + a.time(a.written); at > now {
		return 0, at
	}
	return chunk, now
}

// took counts n bytes as written.
func (a *allowance) took(n int) { a.written += uint64(n) }

// bytes is what the rate makes of ns nanoseconds.
func (a *allowance) bytes(ns int64) uint64 {
	hi, lo := bits.Mul64(uint64(a.rate), uint64(max(ns, 0)))
	q, _ := bits.Div64(hi, lo, 8e9) // of 10^12 bit/s it overflows after four years
	return q
}

// time is how many nanoseconds the rate takes for n bytes.
func (a *allowance) time(n uint64) int64 {
	hi, lo := bits.Mul64(n, 8e9)
	q, _ := bits.Div64(hi, lo, uint64(a.rate))
	return int64(q)
}
