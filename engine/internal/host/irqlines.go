package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// irqLines is how the interrupts of one interface are known: by their numbers where its device says them, as those of PCI
// do, and by the names that drivers give them.
type irqLines struct {
	irqs  map[int]bool
	names [][]byte
}

// findLines looks the device up in sysfs. An interface without a device has no interrupts.
func findLines(root, dev string) irqLines {
	l := irqLines{irqs: make(map[int]bool)}
	path, err := filepath.EvalSymlinks(deviceDir(root, dev))
	if err != nil {
		return l
	}
	l.numbers(busDevice(path))
	// An interrupt may be called by the device's address, 2188000.ethernet, or what it is to virtio, virtio2-input.0; and
	// that of an interface on USB is its bus': xhci-hcd:usb1.
	l.name(dev)
	l.name(filepath.Base(path))
	for _, part := range strings.Split(path, string(filepath.Separator)) {
		if digits, ok := strings.CutPrefix(part, "usb"); ok {
			if _, number := decimal([]byte(digits)); number {
				l.name(part)
			}
		}
	}
	return l
}

// deviceDir is where sysfs has the device of an interface; not there for one that is made of software.
func deviceDir(root, dev string) string { return filepath.Join(root, "sys/class/net", dev, "device") }

// busDevice is what has the interrupts and the place in the machine of the device at path: of a virtio interface, whose
// device is its half of virtio, the device above.
func busDevice(path string) string {
	if strings.HasPrefix(filepath.Base(path), "virtio") {
		return filepath.Dir(path)
	}
	return path
}

func (l *irqLines) name(n string) { l.names = append(l.names, []byte(n)) }

// maxVectors bounds the interrupts of one device: those of MSI-X are at most 2048.
const maxVectors = 2048

// numbers adds those of the device at path.
func (l *irqLines) numbers(path string) {
	d, err := os.Open(filepath.Join(path, "msi_irqs"))
	if err != nil {
		return
	}
	defer d.Close()
	list, _ := d.Readdirnames(maxVectors) // what can be read of it
	for _, n := range list {
		if irq, ok := decimal([]byte(n)); ok && irq < 1<<31 {
			l.irqs[int(irq)] = true
		}
	}
}

// none reports that no interrupt can be the interface's.
func (l *irqLines) none() bool { return len(l.irqs) == 0 && len(l.names) == 0 }

// has reports whether an interrupt is the interface's, by its number or by what stands behind its counts.
func (l *irqLines) has(irq int, what []byte) bool {
	if l.irqs[irq] {
		return true
	}
	for _, n := range l.names {
		if hasName(what, n) {
			return true
		}
	}
	return false
}

// hasName reports whether name stands in what by itself: eth1 is in "eth1-TxRx-0", and not in "eth10".
func hasName(what, name []byte) bool {
	for at := 0; ; {
		i := bytes.Index(what[at:], name)
		if i < 0 {
			return false
		}
		from, to := at+i, at+i+len(name)
		if (from == 0 || !isAlnum(what[from-1])) && (to == len(what) || !isAlnum(what[to])) {
			return true
		}
		at = from + 1
	}
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
