package host

import (
	"bytes"
	"path/filepath"
	"strconv"

	"github.com/ethtune/ethtune/engine/metric"
)

// Busy is the busy share of all processors together.
type Busy struct {
	file *file
	last cpuTicks
}

// OpenBusy reads the file below root. It is the caller's to close.
func OpenBusy(root string) *Busy {
	b := &Busy{file: open(filepath.Join(root, "proc/stat"))}
	b.Share()
	return b
}

// Share is the share in percent since the last call; absent where the kernel does not say or no time has passed.
func (b *Busy) Share() metric.Num {
	text, ok := b.file.read()
	if !ok {
		return metric.Num{}
	}
	now, ok := parseStat(text)
	if !ok {
		return metric.Num{}
	}
	last := b.last
	b.last = now
	// Idle and iowait may step back a tick between two reads (Documentation/filesystems/proc.rst).
	if now.total <= last.total || last.total == 0 {
		return metric.Num{}
	}
	busy := 100 * (1 - float64(now.idle-min(last.idle, now.idle))/float64(now.total-last.total))
	return metric.N(min(max(busy, 0), 100))
}

// Close closes the file.
func (b *Busy) Close() { b.file.close() }

// cpuTicks is time of all processors in USER_HZ.
type cpuTicks struct{ total, idle uint64 }

// parseStat reads the first line of /proc/stat: user nice system idle iowait irq softirq steal guest guest_nice. The
// guests' time is in user and nice already; time that a hypervisor stole was not ours to use, and counts as busy.
func parseStat(b []byte) (cpuTicks, bool) {
	l, _, _ := bytes.Cut(b, []byte("\n"))
	f := bytes.Fields(l)
	if len(f) < 5 || string(f[0]) != "cpu" {
		return cpuTicks{}, false
	}
	var t cpuTicks
	for i, w := range f[1:min(len(f), 9)] {
		v, err := strconv.ParseUint(string(w), 10, 63)
		if err != nil {
			return cpuTicks{}, false
		}
		t.total += v
		if i == 3 || i == 4 {
			t.idle += v
		}
	}
	return t, true
}
