package flow

import (
	"math"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// pauses is how often the world was stopped for a garbage collection, and how often that took longer than limit.
func pauses(limit time.Duration) (all, long uint64) {
	s := []metrics.Sample{{Name: "/sched/pauses/stopping/gc:seconds"}}
	metrics.Read(s)
	h := s[0].Value.Float64Histogram()
	for i, n := range h.Counts {
		all += n
		if lo := h.Buckets[i]; !math.IsInf(lo, -1) && lo >= limit.Seconds() {
			long += n
		}
	}
	return all, long
}

// Threads that wait in system calls which the scheduler does not know of still stop for a garbage collection: all of them
// are idle here, which is when they wait longest.
func TestWaitingThreadsDoNotHoldUpTheCollector(t *testing.T) {
	a, b := udpPair(t)
	tx, rx := NewUDPSender(a, load34(500, 4000)), NewUDPReceiver(b, load34(500, 0))
	rx.Start()
	tx.Start()
	wait(t, "running", func() bool { return rx.Rx(nil).Packets > 0 })
	const limit = 250 * time.Millisecond // a busy machine has other reasons; a datagram is due each second
	all, long := pauses(limit)
	for range 50 {
		runtime.GC()
	}
	after, late := pauses(limit)
	if after == all || late-long > (after-all)/10 {
		t.Errorf("%d of %d stops took longer than %s", late-long, after-all, limit)
	}
	if err := tx.Close(); err != nil {
		t.Error(err)
	}
	if err := rx.Close(); err != nil {
		t.Error(err)
	}
}
