package host

import (
	"bytes"
	"math"
	"path/filepath"

	"github.com/ethtune/ethtune/engine/metric"
)

// The columns of a line of /proc/stat that are read. The guests' time, which follows, is in user and nice already.
const (
	tickUser = iota
	tickNice
	tickSystem
	tickIdle
	tickIOWait
	tickIRQ
	tickSoftirq
	tickSteal
	tickColumns
)

// allCPUs is the number of the line of all processors together.
const allCPUs = -1

// cpuTicks is time of one processor in USER_HZ. A column that an old kernel does not have is 0.
type cpuTicks struct {
	n     int
	ticks [tickColumns]uint64
}

// since is the time that passed in each column and in all of them. Idle and iowait may step back a tick between two reads
// (Documentation/filesystems/proc.rst), and all of them when a processor comes back.
func (c cpuTicks) since(last cpuTicks) (d [tickColumns]uint64, whole uint64) {
	for i := range d {
		d[i] = c.ticks[i] - min(last.ticks[i], c.ticks[i])
		whole += d[i]
	}
	return d, whole
}

// cpus is the share of each processor's time.
type cpus struct {
	file      *file
	last, now []cpuTicks // by number, which the kernel lists in order
}

func openCPUs(root string) *cpus {
	c := &cpus{file: open(filepath.Join(root, "proc/stat"), maxFile)}
	c.read(nil)
	return c
}

// read appends the shares since it was last called. A processor that was not online then has none yet.
func (c *cpus) read(to []metric.CPU) []metric.CPU {
	text, ok := c.file.read()
	if !ok {
		return to
	}
	c.last, c.now = c.now, parseStat(c.last[:0], text)
	before := c.last
	for _, now := range c.now {
		for len(before) > 0 && before[0].n < now.n {
			before = before[1:]
		}
		if now.n == allCPUs || len(before) == 0 || before[0].n != now.n {
			continue
		}
		if d, whole := now.since(before[0]); whole > 0 {
			pct := func(ticks uint64) float64 { return tenth(100 * float64(ticks) / float64(whole)) }
			to = append(to, metric.CPU{N: now.n, Usr: pct(d[tickUser] + d[tickNice]), Sys: pct(d[tickSystem]),
				Idle: pct(d[tickIdle] + d[tickIOWait]), Softirq: pct(d[tickSoftirq]), IRQ: pct(d[tickIRQ]),
				Steal: pct(d[tickSteal])})
		}
	}
	return to
}

// tenth rounds a share, of which a second holds no more than a hundred ticks.
func tenth(pct float64) float64 { return math.Round(pct*10) / 10 }

func (c *cpus) close() { c.file.close() }

// parseStat appends the lines of processors of /proc/stat, which come first.
func parseStat(to []cpuTicks, text []byte) []cpuTicks {
	for len(text) > 0 && len(to) <= metric.MaxCPUs {
		var l []byte
		l, text = line(text)
		c, ok := parseCPU(l)
		if !ok {
			break
		}
		to = append(to, c)
	}
	return to
}

// parseCPU reads one of them: "cpu", with the number unless it is all of them, user nice system idle iowait irq softirq
// steal guest guest_nice. Kernels before 2.6.11 have no steal.
func parseCPU(l []byte) (cpuTicks, bool) {
	name, l := word(l)
	digits, ok := bytes.CutPrefix(name, []byte("cpu"))
	if !ok {
		return cpuTicks{}, false
	}
	c := cpuTicks{n: allCPUs}
	if len(digits) > 0 {
		n, ok := decimal(digits)
		if !ok || n >= metric.MaxCPUs {
			return cpuTicks{}, false
		}
		c.n = int(n)
	}
	for i := range c.ticks {
		var w []byte
		w, l = word(l)
		if len(w) == 0 {
			return c, i > tickIdle
		}
		if c.ticks[i], ok = decimal(w); !ok || c.ticks[i] > 1<<56 {
			return cpuTicks{}, false
		}
	}
	return c, true
}
