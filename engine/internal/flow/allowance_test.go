package flow

import (
	"testing"
	"time"
)

// A stream that is run late every now and then, and takes part of what it may at times, keeps the mean to a write.
func TestAllowanceKeepsTheMean(t *testing.T) {
	for _, rate := range []int64{1e3, 1e6, 100e6, 1e9, 400e9, 1e12} {
		var a allowance
		const begin, length = 77, 10 * int64(time.Second)
		a.aim(begin, rate)
		var sum, most uint64
		for now, k := int64(begin), 0; now < begin+length; k++ {
			n, until := a.left(now, DefaultTCPSize)
			switch {
			case n > 0:
				most = max(most, uint64(n))
				if k%7 == 0 {
					n = n/2 + 1
				}
				a.took(n)
				sum += uint64(n)
				now += max(int64(n)*8e9/(4*rate), 1) // it is written four times as fast as it is due
			case k%1000 == 0:
				now += 50e6
			default:
				now = until
			}
		}
		want := uint64(float64(rate) / 8 * 10)
		if diff := max(sum, want) - min(sum, want); diff > 2*most+want/100 && diff > uint64(rate)/8/20 {
			t.Errorf("%d bit/s: %d bytes in 10 s, not %d", rate, sum, want)
		}
	}
}

// What could not be sent for long is not made good in one burst, and the first write is due at once.
func TestAllowanceForgetsOldDebt(t *testing.T) {
	var a allowance
	a.aim(0, 8e6)
	if n, _ := a.left(0, 1<<20); n != leastWrite {
		t.Errorf("first %d bytes", n)
	}
	sum := 0
	for {
		n, _ := a.left(10e9, 1<<20)
		if n == 0 {
			break
		}
		a.took(n)
		sum += n
	}
	if sum < 100_000 || sum > 100_000+leastWrite {
		t.Errorf("%d bytes after a blackout, 100 ms are 100000", sum)
	}
}

func TestNoRateNoBound(t *testing.T) {
	var a allowance
	for range 3 {
		n, _ := a.left(5, 1000)
		if a.took(n); n != 1000 {
			t.Errorf("%d bytes", n)
		}
	}
}
