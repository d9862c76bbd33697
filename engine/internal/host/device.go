package host

import (
	"bytes"
	"path/filepath"

	"github.com/ethtune/ethtune/engine/metric"
)

// device is what passed one interface. The file, unlike rtnetlink, is read without the lock that the kernel holds while a
// driver brings its hardware to another setting, for seconds: just then the sampler must not wait. The counters are the
// same, of 64 bits (net/core/net-procfs.c, dev_get_stats).
type device struct {
	file  *file
	name  string
	last  deviceCount
	known bool
}

// deviceCount is one line of /proc/net/dev.
type deviceCount struct{ rx, tx wayCount }

// wayCount is one way of an interface.
type wayCount struct{ bytes, packets, errors, dropped uint64 }

func openDevice(root, name string) *device {
	d := &device{name: name, file: open(filepath.Join(root, "proc/net/dev"), maxFile)}
	d.read()
	return d
}

// read is what passed since the last read; nil where the interface is gone, or has only come.
func (d *device) read() *metric.NIC {
	text, ok := d.file.read()
	if !ok {
		return nil
	}
	last, known := d.last, d.known
	if d.last, d.known = parseDevice(text, d.name); !d.known || !known {
		return nil
	}
	now := d.last
	return &metric.NIC{
		Device:    d.name,
		RxBytes:   grown(last.rx.bytes, now.rx.bytes),
		RxPackets: grown(last.rx.packets, now.rx.packets),
		RxErrors:  grown(last.rx.errors, now.rx.errors),
		RxDropped: grown(last.rx.dropped, now.rx.dropped),
		TxBytes:   grown(last.tx.bytes, now.tx.bytes),
		TxPackets: grown(last.tx.packets, now.tx.packets),
		TxErrors:  grown(last.tx.errors, now.tx.errors),
		TxDropped: grown(last.tx.dropped, now.tx.dropped),
	}
}

func (d *device) close() { d.file.close() }

// txColumn is the column of /proc/net/dev, from 0, in which what was sent begins, after rx bytes packets errs drop fifo
// frame compressed multicast.
const txColumn = 8

// parseDevice finds the line of name in /proc/net/dev. There is no blank between the name's colon and a wide number.
func parseDevice(text []byte, name string) (deviceCount, bool) {
	var l []byte
	for len(text) > 0 {
		l, text = line(text)
		rest, ok := bytes.CutPrefix(bytes.TrimLeft(l, " "), []byte(name))
		if !ok || len(rest) == 0 || rest[0] != ':' {
			continue
		}
		var columns [txColumn + 4]uint64
		rest = rest[1:]
		for i := range columns {
			var w []byte
			w, rest = word(rest)
			if columns[i], ok = decimal(w); !ok {
				return deviceCount{}, false
			}
		}
		way := func(c []uint64) wayCount { return wayCount{c[0], c[1], c[2], c[3]} }
		return deviceCount{way(columns[:txColumn]), way(columns[txColumn:])}, true
	}
	return deviceCount{}, false
}
