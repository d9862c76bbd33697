package flow

import (
	"time"

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

// sleepUntil sleeps until mono on the calling thread itself: a timer of the Go runtime wakes up to a millisecond late.
func sleepUntil(mono int64) {
	ts := unix.NsecToTimespec(mono)
	for {
		if err := unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil); err != unix.EINTR {
			return
		}
	}
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
