package flow

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// epoch ties Go's monotonic clock, which is read without a system call, to the kernel's CLOCK_MONOTONIC, which absolute
// sleeps are given in. Both are the same clock with a different zero.
var epoch = newEpoch()

type epochs struct {
	at   time.Time
	mono int64
}

func newEpoch() epochs {
	var ts unix.Timespec
	at := time.Now()
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		// The kernel always has this clock; with another zero the sleeps would end at once, which costs CPU and no truth.
		return epochs{at: at}
	}
	return epochs{at: at, mono: ts.Nano()}
}

// Mono is CLOCK_MONOTONIC in nanoseconds.
func Mono() int64 { return epoch.mono + int64(time.Since(epoch.at)) }

// Wall is CLOCK_REALTIME in nanoseconds, the clock of SO_TIMESTAMPNS.
func Wall() int64 { return time.Now().UnixNano() }

const (
	// rawNap bounds one sleep that the Go scheduler does not know of, in nanoseconds.
	rawNap = 1_000_000
	// parkLead is how long before the time a long sleep ends, in nanoseconds: a timer of the Go runtime wakes up to a
	// millisecond late, and some more on a busy machine.
	parkLead = 2_000_000
)

// nap sleeps from now to until, or less: the caller looks at the clock again. The last milliseconds are slept on the
// thread itself, exact to microseconds and without a word to the Go scheduler, see the package comment; what is longer is
// left to the runtime.
func nap(now, until int64) {
	if left := until - now; left > 2*parkLead {
		time.Sleep(time.Duration(left - parkLead))
		return
	}
	ts := unix.NsecToTimespec(min(until, now+rawNap))
	// A signal, by which the scheduler asks for the thread, ends the sleep.
	_, _, _ = unix.RawSyscall6(unix.SYS_CLOCK_NANOSLEEP, unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME,
		uintptr(unsafe.Pointer(&ts)), 0, 0, 0)
}

// threadClock is the CPU clock of a thread of this process: what pthread_getcpuclockid makes of its id
// (include/linux/posix-timers_types.h: CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED).
func threadClock(tid int) int32 { return int32(^tid<<3 | 6) }

// cpuOf reads a CPU clock in nanoseconds, 0 where its thread is gone.
func cpuOf(clock int32) int64 {
	var ts unix.Timespec
	if unix.ClockGettime(clock, &ts) != nil {
		return 0
	}
	return ts.Nano()
}
