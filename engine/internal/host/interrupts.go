package host

import (
	"bytes"
	"path/filepath"

	"github.com/ethtune/ethtune/engine/metric"
)

// maxInterrupts bounds what is read of /proc/interrupts: 256 processors with 1000 interrupts are 3 MiB.
const maxInterrupts = 4 << 20

// maxInterruptCPUs bounds the processors that are told of all interrupts together.
const maxInterruptCPUs = 2048

// interrupts counts the interrupts of one interface's device.
type interrupts struct {
	file  *file
	lines irqLines
	begun bool
	last  map[irqOf]uint32 // of 32 bits, they wrap
}

// irqOf is one interrupt on one processor.
type irqOf struct{ irq, cpu int }

func openInterrupts(root, dev string) *interrupts {
	i := &interrupts{file: open(filepath.Join(root, "proc/interrupts"), maxInterrupts), lines: findLines(root, dev),
		last: make(map[irqOf]uint32)}
	i.read()
	return i
}

// read is what interrupted since the last read. What is new in it came since.
func (i *interrupts) read() []metric.Interrupt {
	if i.lines.none() {
		return nil
	}
	text, ok := i.file.read()
	if !ok {
		return nil
	}
	first := !i.begun
	i.begun = true
	var list []metric.Interrupt
	cells := 0
	parseInterrupts(text, func(irq int, what []byte, cpus []int, counts []uint32) {
		if !i.lines.has(irq, what) {
			return
		}
		moved := metric.Interrupt{IRQ: irq}
		for c, n := range counts {
			at := irqOf{irq, cpus[c]}
			d := n - i.last[at]
			i.last[at] = n
			// An interrupt that is asked for anew, as after the interface was down, is counted from 0.
			if d == 0 || d >= maxWrapped || first || cells >= maxInterruptCPUs {
				continue
			}
			if moved.CPUs == nil {
				moved.CPUs = make(map[int]uint64)
			}
			moved.CPUs[cpus[c]] = uint64(d)
			cells++
		}
		if moved.CPUs != nil && len(list) < metric.MaxRows {
			moved.Name = irqName(what)
			list = append(list, moved)
		}
	})
	return list
}

func (i *interrupts) close() { i.file.close() }

// parseInterrupts calls row for every line of /proc/interrupts that has a number for a name, with what stands behind its
// counts: the chip, the chip's own number, how it is triggered, and the drivers' names, all but the counts optional. The
// first line says which processors are online; there is one count for each of them, and lines without are no devices'.
func parseInterrupts(text []byte, row func(irq int, what []byte, cpus []int, counts []uint32)) {
	head, text := line(text)
	var cpus []int
	for len(cpus) < metric.MaxCPUs {
		var w []byte
		if w, head = word(head); len(w) == 0 {
			break
		}
		digits, ok := bytes.CutPrefix(w, []byte("CPU"))
		n, number := decimal(digits)
		if !ok || !number || n >= metric.MaxCPUs {
			return
		}
		cpus = append(cpus, int(n))
	}
	counts := make([]uint32, 0, len(cpus))
	for len(text) > 0 {
		var l []byte
		l, text = line(text)
		name, l, ok := bytes.Cut(l, []byte(":"))
		irq, number := decimal(bytes.TrimLeft(name, " "))
		if !ok || !number || irq > 1<<31-1 {
			continue
		}
		counts = counts[:0]
		for range cpus {
			w, rest := word(l)
			n, ok := decimal(w)
			if !ok || n > 1<<32-1 {
				break
			}
			counts = append(counts, uint32(n))
			l = rest
		}
		if len(counts) == len(cpus) && len(cpus) > 0 {
			row(int(irq), bytes.TrimSpace(l), cpus, counts)
		}
	}
}

// maxIRQName bounds a driver's name for an interrupt, in bytes.
const maxIRQName = 64

// irqName is the drivers' name in what stands behind an interrupt's counts; empty where there is none. Drivers that share
// the interrupt are set apart by ", ".
func irqName(what []byte) string {
	words := bytes.Fields(what)
	if len(words) < 2 {
		return "" // a chip at most
	}
	last := len(words) - 1
	if _, number := decimal(words[last]); number || isTrigger(words[last]) {
		return ""
	}
	for last > 1 && bytes.HasSuffix(words[last-1], []byte(",")) {
		last--
	}
	name := bytes.Join(words[last:], []byte(" "))
	return string(name[:min(len(name), maxIRQName)])
}

// isTrigger reports whether w says how an interrupt is triggered, which stands last where no driver has it.
func isTrigger(w []byte) bool {
	for _, t := range []string{"Edge", "Level", "None"} {
		if string(w) == t {
			return true
		}
	}
	for _, t := range []string{"-edge", "-level", "-fasteoi"} {
		if bytes.HasSuffix(w, []byte(t)) {
			return true
		}
	}
	return false
}
