package host

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

const (
	// topMost is how many processes are told of.
	topMost = 3
	// maxProcesses bounds those that are looked at.
	maxProcesses = 4096
	// ticksPerSecond is USER_HZ, the same on every machine that Go runs on.
	ticksPerSecond = 100
)

// top finds the processes that use the processors most.
type top struct {
	dir       *os.File // nil where it is not there
	buf       []byte
	last, now map[int]processTicks
	complete  bool // last has all that there were
}

// processTicks is processor time in USER_HZ of a process, which its start tells from an earlier one of the same number.
type processTicks struct{ start, used uint64 }

func openTop(root string) *top {
	t := &top{buf: make([]byte, 1024), last: make(map[int]processTicks), now: make(map[int]processTicks)}
	t.dir, _ = os.Open(filepath.Join(root, "proc"))
	t.read(1)
	return t
}

// read is the processes that used most in the last span seconds, the first of them most. What was not there before has
// used all its time since.
func (t *top) read(span float64) []metric.Process {
	if t.dir == nil || span <= 0 {
		return nil
	}
	clear(t.now)
	var list []metric.Process
	complete := t.each(func(pid int, comm []byte, now processTicks) {
		t.now[pid] = now
		last, known := t.last[pid]
		if !known && !t.complete {
			return
		}
		if last.start != now.start {
			last.used = 0
		}
		if now.used <= last.used {
			return
		}
		pct := 100 * float64(now.used-last.used) / ticksPerSecond / span
		if len(list) == topMost && pct <= list[topMost-1].Pct {
			return
		}
		list = append(list, metric.Process{Name: strings.ToValidUTF8(string(comm), "?"), PID: pid, Pct: tenth(pct)})
		slices.SortFunc(list, func(a, b metric.Process) int {
			return cmp.Or(cmp.Compare(b.Pct, a.Pct), cmp.Compare(a.PID, b.PID))
		})
		list = list[:min(len(list), topMost)]
	})
	t.last, t.now = t.now, t.last
	t.complete = complete
	return list
}

// each calls f for every process, and reports whether it saw all.
func (t *top) each(f func(pid int, comm []byte, ticks processTicks)) bool {
	if _, err := t.dir.Seek(0, 0); err != nil {
		return false
	}
	for looked := 0; looked < maxProcesses; {
		names, err := t.dir.Readdirnames(256)
		for _, n := range names {
			pid, ok := decimal([]byte(n))
			if !ok || pid > 1<<31-1 {
				continue
			}
			looked++
			if comm, ticks, ok := parseProcess(t.stat(n)); ok {
				f(int(pid), comm, ticks)
			}
		}
		if err != nil {
			return true
		}
	}
	return false
}

// stat is what the kernel says about one process, nothing where that has ended. It is opened without the runtime's help,
// which would offer every file to the poller.
func (t *top) stat(pid string) []byte {
	fd, err := unix.Openat(int(t.dir.Fd()), pid+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	n, err := unix.Read(fd, t.buf)
	_ = unix.Close(fd) // it was read only
	if err != nil {
		return nil
	}
	return t.buf[:n]
}

func (t *top) close() {
	if t.dir != nil {
		_ = t.dir.Close() // it was read only
	}
}

// The columns of /proc/PID/stat, from 0 for the one after the name.
const (
	statUtime     = 11
	statStime     = 12
	statStarttime = 19
)

// parseProcess reads /proc/PID/stat. The name, in parentheses, may hold blanks and parentheses of its own.
func parseProcess(text []byte) (comm []byte, t processTicks, ok bool) {
	from, to := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if from < 0 || to < from {
		return nil, processTicks{}, false
	}
	comm, text = text[from+1:to], text[to+1:]
	for i := range statStarttime + 1 {
		var w []byte
		w, text = word(text)
		if i != statUtime && i != statStime && i != statStarttime {
			continue
		}
		v, ok := decimal(w)
		if !ok || v > 1<<56 {
			return nil, processTicks{}, false
		}
		if i == statStarttime {
			t.start = v
		} else {
			t.used += v
		}
	}
	return comm, t, true
}
