package host

import "golang.org/x/sys/unix"

// ProcessCPU is the processor time in nanoseconds that this process has used; false where it cannot be read.
func ProcessCPU() (int64, bool) {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		return 0, false
	}
	return ts.Nano(), true
}
