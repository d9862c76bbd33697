package iperf3

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpu is what this process had used of the processors when a test began.
type cpu struct {
	at           time.Time
	user, system int64 // ns
}

func readCPU() cpu {
	c := cpu{at: time.Now()}
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) == nil {
		c.user, c.system = u.Utime.Nano(), u.Stime.Nano()
	}
	return c
}

// since fills in what was used since, in percent of one processor.
func (c cpu) since(r *results) {
	now := readCPU()
	ns := float64(max(now.at.Sub(c.at), 1))
	r.CPUUser = number(100 * float64(now.user-c.user) / ns)
	r.CPUSystem = number(100 * float64(now.system-c.system) / ns)
	r.CPUTotal = r.CPUUser + r.CPUSystem
}
