package flow

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// beat is a periodic timer of the kernel that a goroutine waits for in Go's poller. Beats are of an absolute grid: one
// that is noticed late does not move the next. A timer of the Go runtime would do, at twice the wake-ups: the poller
// rounds its own to whole milliseconds, and the runtime's monitor gets up with each.
type beat struct {
	file *os.File
	raw  syscall.RawConn
	due  func(fd uintptr) bool // made once, so that waiting does not allocate
	buf  [8]byte
}

func newBeat(period time.Duration) (*beat, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	b := &beat{file: os.NewFile(uintptr(fd), "timerfd")}
	b.due = func(fd uintptr) bool {
		// What is read is how many beats have passed. Those that were slept through are not made good.
		err := retry(func() error { _, err := unix.Read(int(fd), b.buf[:]); return err })
		return err != unix.EAGAIN
	}
	if b.raw, err = b.file.SyscallConn(); err == nil {
		err = b.set(period)
	}
	if err != nil {
		_ = b.file.Close()
		return nil, fmt.Errorf("timer: %w", err)
	}
	return b, nil
}

// set makes the beats period apart, the first one a period from now.
func (b *beat) set(period time.Duration) error {
	ts := unix.NsecToTimespec(max(int64(period), 1))
	var opt error
	err := b.raw.Control(func(fd uintptr) {
		opt = unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Interval: ts, Value: ts}, nil)
	})
	if err == nil {
		err = os.NewSyscallError("timerfd_settime", opt)
	}
	return err
}

// wait waits for the next beat; false once the beat is closed.
func (b *beat) wait() bool { return b.raw.Read(b.due) == nil }

// close stops it and wakes who waits.
func (b *beat) close() error { return b.file.Close() }
