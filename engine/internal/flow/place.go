package flow

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// allowed is where this process was let run when it began, before a thread of it was placed anywhere.
var allowed, errAllowed = affinity()

// affinity is the processors that the calling thread may run on.
func affinity() (unix.CPUSetDynamic, error) {
	set := unix.NewCPUSet(metric.MaxCPUs)
	return set, os.NewSyscallError("sched_getaffinity", unix.SchedGetaffinityDynamic(0, set))
}

// CheckCPUs reports the first processor of list, as [metric.Calls] has it, that no thread of this process may be placed
// on: it is not there, is offline, or is not given to this process. The kernel itself says nothing where there is at least
// one that it may.
func CheckCPUs(list string) error {
	cpus, err := metric.ParseCPUs(list)
	if err != nil {
		return err
	}
	if errAllowed != nil && len(cpus) > 0 {
		return fmt.Errorf("affinity %s: %w", list, errAllowed)
	}
	for _, n := range cpus {
		if !allowed.IsSet(n) {
			return fmt.Errorf("affinity %s: processor %d is not there, offline, or not allowed to this process", list, n)
		}
	}
	return nil
}

// place is where a stream's thread may run, and where it does. Its methods may be called by any goroutine, except arrive
// and depart, which are the thread's.
type place struct {
	spot  sync.Mutex         // guards what follows
	tid   int                // 0 where there is no thread
	want  unix.CPUSetDynamic // nil where nothing is asked
	first unix.CPUSetDynamic // the thread's own, once it was placed elsewhere
	stat  int                // its /proc/thread-self/stat; -1 where that is not to be had
	buf   [512]byte
}

// Place lets the stream's thread run on the processors of list only, as [metric.Calls] has it, at once if it runs already.
// Empty is where the thread came from.
func (p *place) Place(list string) error {
	if err := CheckCPUs(list); err != nil {
		return err
	}
	cpus, _ := metric.ParseCPUs(list) // it was just checked
	var set unix.CPUSetDynamic
	if len(cpus) > 0 {
		set = unix.NewCPUSet(metric.MaxCPUs)
		for _, n := range cpus {
			set.Set(n)
		}
	}
	p.spot.Lock()
	defer p.spot.Unlock()
	p.want = set
	return p.apply()
}

// arrive takes in the calling thread, which must be locked.
func (p *place) arrive() error {
	p.spot.Lock()
	defer p.spot.Unlock()
	p.tid = unix.Gettid()
	var err error
	if p.stat, err = unix.Open("/proc/thread-self/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		p.stat = -1 // no /proc here: where it runs stays unknown
	}
	return p.apply()
}

// depart gives the calling thread back as it came.
func (p *place) depart() {
	p.spot.Lock()
	defer p.spot.Unlock()
	if p.first != nil {
		// It is refused only if those processors are gone, and then the kernel has chosen others already.
		_ = unix.SchedSetaffinityDynamic(0, p.first)
		p.first = nil
	}
	if p.stat >= 0 {
		_ = unix.Close(p.stat)
	}
	p.tid = 0
}

// apply brings the thread, if there is one, to where it is wanted.
func (p *place) apply() error {
	set := p.want
	switch {
	case p.tid == 0 || set == nil && p.first == nil:
		return nil
	case set == nil:
		set = p.first
	case p.first == nil:
		first := unix.NewCPUSet(metric.MaxCPUs)
		if err := unix.SchedGetaffinityDynamic(p.tid, first); err != nil {
			return os.NewSyscallError("sched_getaffinity", err)
		}
		p.first = first
	}
	return os.NewSyscallError("sched_setaffinity", unix.SchedSetaffinityDynamic(p.tid, set))
}

// CPU is the processor that the stream's thread last ran on; false where there is no thread, or that is not known.
func (p *place) CPU() (int, bool) {
	p.spot.Lock()
	defer p.spot.Unlock()
	if p.tid == 0 || p.stat < 0 {
		return 0, false
	}
	n, err := unix.Pread(p.stat, p.buf[:], 0)
	if err != nil {
		return 0, false
	}
	return lastCPU(p.buf[:n])
}

// lastCPU finds the processor in a line of /proc/.../stat: its 39th field (proc_pid_stat(5)). The second is the thread's
// name in brackets, which may hold anything.
func lastCPU(stat []byte) (int, bool) {
	rest := stat[bytes.LastIndexByte(stat, ')')+1:]
	for range 39 - 2 {
		rest = bytes.TrimLeft(rest, " ")
		end := bytes.IndexByte(rest, ' ')
		if end < 0 {
			return 0, false
		}
		stat, rest = rest[:end], rest[end:]
	}
	n, err := strconv.ParseUint(string(stat), 10, 16)
	return int(n), err == nil && n < metric.MaxCPUs
}
