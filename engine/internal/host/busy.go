package host

import (
	"path/filepath"

	"github.com/ethtune/ethtune/engine/metric"
)

// Busy is the busy share of all processors together.
type Busy struct {
	file *file
	last cpuTicks
}

// OpenBusy reads the file below root. It is the caller's to close.
func OpenBusy(root string) *Busy {
	b := &Busy{file: open(filepath.Join(root, "proc/stat"), maxFile)}
	b.Share()
	return b
}

// Share is the share in percent since the last call; absent where the kernel does not say or no time has passed.
func (b *Busy) Share() metric.Num {
	text, ok := b.file.read()
	if !ok {
		return metric.Num{}
	}
	first, _ := line(text)
	now, ok := parseCPU(first)
	if !ok || now.n != allCPUs {
		return metric.Num{}
	}
	d, whole := now.since(b.last)
	known := b.last != cpuTicks{}
	b.last = now
	if !known || whole == 0 {
		return metric.Num{}
	}
	// Time that a hypervisor stole was not ours to use, and counts as busy.
	return metric.N(100 * float64(whole-d[tickIdle]-d[tickIOWait]) / float64(whole))
}

// Close closes the file.
func (b *Busy) Close() { b.file.close() }
