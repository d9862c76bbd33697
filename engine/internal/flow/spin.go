package flow

import "github.com/ethtune/ethtune/engine/metric"

const (
	// spinLead is how long before its time a wait becomes a spin, in nanoseconds: about what a sleeping thread takes to
	// come back. It is all that one wait can take of a processor that others need as well.
	spinLead = 40_000
	// spinGap is the shortest time between two messages that is spun for by itself, in nanoseconds: 200 Mbit/s of 1448
	// bytes. Below it the sleep is the smaller part of the wait, and a spin takes a whole processor.
	spinGap = 57_000
)

// spinFor is how long a paced sender spins before each message of so many bytes, in a process that may use so many
// processors. On one processor of several it spins only where that was asked for, and where there is no other it never
// does: the receiver may have to run there.
func spinFor(g *goal, bytes, processors int) int64 {
	if processors < 2 {
		return 0
	}
	if g.calls.Precise {
		return spinLead
	}
	cpus, err := metric.ParseCPUs(g.calls.Affinity)
	if err == nil && len(cpus) == 1 || uint64(bytes)*8*1e9/uint64(g.rate) < spinGap {
		return 0
	}
	return spinLead
}

// await waits from now until a time, or less: the caller looks at the clock again. The last spin nanoseconds are spent
// looking at the clock, since a sleep ends late.
func await(now, until, spin int64) {
	if early := until - spin; early > now {
		nap(now, early)
		return
	}
	for now < until {
		now = Mono()
	}
}
