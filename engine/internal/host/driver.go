package host

import (
	"strings"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/engine/nic"
)

// driver counts what went wrong in the interface's driver and its hardware, by the driver's own names.
type driver struct {
	nic    *nic.Client // nil where there is none
	dev    string
	last   map[string]uint64
	missed uint64
	begun  bool
}

// openDriver opens sockets in this process's network namespace.
func openDriver(dev string) *driver {
	d := &driver{dev: dev}
	d.nic, _ = nic.Open() // without it nothing is known of the driver
	return d
}

// read is by how much those counters that moved grew since the last read, and what the device missed. A counter that was
// not there then says nothing yet: drivers bring some with a queue, and do not begin at 0.
func (d *driver) read() (moved map[string]uint64, missed uint64) {
	if d.nic == nil {
		return nil, 0
	}
	if n, err := d.nic.RxMissed(d.dev); err == nil {
		if d.begun {
			missed = grown(d.missed, n)
		}
		d.missed, d.begun = n, true
	}
	now, err := d.nic.Stats(d.dev)
	if err != nil {
		return nil, missed // a driver without any, or the interface is gone
	}
	for name, n := range now {
		last, known := d.last[name]
		if g := grown(last, n); g > 0 && known && isTrouble(name) && len(moved) < metric.MaxRows {
			if moved == nil {
				moved = make(map[string]uint64)
			}
			moved[name] = g
		}
	}
	d.last = now
	return moved, missed
}

// index is the interface's number; false where it is gone.
func (d *driver) index() (int, bool) {
	if d.nic == nil {
		return 0, false
	}
	l, err := d.nic.Link(d.dev)
	return l.Index, err == nil
}

func (d *driver) close() {
	if d.nic != nil {
		_ = d.nic.Close() // nothing was written
	}
}

// isTrouble reports whether a counter's name says that packets were lost. The words are in other words as well.
func isTrouble(name string) bool {
	name = notTrouble.Replace(strings.ToLower(name))
	for _, w := range []string{"drop", "err", "miss", "discard", "overflow", "no_buf"} {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

var notTrouble = strings.NewReplacer("interrupt", "", "transmission", "", "permission", "")
