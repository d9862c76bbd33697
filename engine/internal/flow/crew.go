package flow

import (
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// crew is every traffic thread of this process. It is one for the process because what it looks after is: the number
// of Ps, and the CPU time that is traffic and not the tool.
var crew = &roster{}

type roster struct {
	mu    sync.Mutex
	n     int
	procs int  // GOMAXPROCS before the first thread
	grown bool // it may have been raised since
	live  map[*member]struct{}
	gone  int64 // CPU nanoseconds of threads that left
}

type member struct {
	clock int32
	since int64
}

// room lets n more threads join without a stop of the world for each, which takes long where a hundred are running.
//
// Traffic threads block in system calls, and with too few Ps the paced ones wait out another's time slice (10 ms stalls on
// one core), so there are always two Ps more than traffic threads.
func (r *roster) room(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > 0 {
		r.grow(n)
	}
}

func (r *roster) grow(n int) {
	if r.n == 0 && !r.grown {
		r.procs, r.grown = runtime.GOMAXPROCS(0), true
	}
	if want := r.n + n + 2; runtime.GOMAXPROCS(0) < want {
		runtime.GOMAXPROCS(want)
	}
}

// join takes in one more thread.
func (r *roster) join() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.grow(1)
	r.n++
}

// enter counts the CPU time of the calling thread, which must be locked, from now on.
func (r *roster) enter() *member {
	m := &member{clock: threadClock(unix.Gettid())}
	m.since = cpuOf(m.clock)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live == nil {
		r.live = make(map[*member]struct{})
	}
	r.live[m] = struct{}{}
	return m
}

// leave ends what join and enter began, on the same thread.
func (r *roster) leave(m *member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone += max(0, cpuOf(m.clock)-m.since)
	delete(r.live, m)
	if r.n--; r.n > 0 {
		return
	}
	r.grown = false
	if runtime.GOMAXPROCS(0) != r.procs {
		runtime.GOMAXPROCS(r.procs)
	}
}

// CPU is the processor time in nanoseconds that traffic threads of this process used, those that ended included.
func CPU() int64 {
	crew.mu.Lock()
	defer crew.mu.Unlock()
	sum := crew.gone
	for m := range crew.live {
		sum += max(0, cpuOf(m.clock)-m.since)
	}
	return sum
}
