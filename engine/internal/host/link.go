package host

import (
	"bytes"
	"path/filepath"

	"github.com/ethtune/ethtune/engine/metric"
)

// link is what sysfs says of the interface's device: an interface that is made of software has no device, and the speed
// that it may say is not kept by anything.
type link struct{ speed, node *file }

// maxNumber bounds a file that holds one number.
const maxNumber = 4096

// unknownSpeed is SPEED_UNKNOWN as kernels before 3.16 put it into 16 bits.
const unknownSpeed = 65535

func openLink(root, dev string) *link {
	path, err := filepath.EvalSymlinks(deviceDir(root, dev))
	if err != nil {
		return &link{speed: &file{}, node: &file{}}
	}
	return &link{
		speed: open(filepath.Join(path, "net", dev, "speed"), maxNumber),
		node:  open(filepath.Join(busDevice(path), "numa_node"), maxNumber),
	}
}

// bps is the speed that was agreed, in bit/s; absent while the link is down, and where it has none.
func (l *link) bps() metric.Num {
	mbps, ok := l.speed.number()
	if !ok || mbps == 0 || mbps == unknownSpeed {
		return metric.Num{}
	}
	return metric.N(float64(mbps) * 1e6)
}

// numa is the device's node; absent where it has none, which the kernel calls -1.
func (l *link) numa() metric.Num {
	n, ok := l.node.number()
	if !ok {
		return metric.Num{}
	}
	return metric.N(float64(n))
}

func (l *link) close() {
	l.speed.close()
	l.node.close()
}

// number is the one that the file holds; false where it holds none, or a negative one.
func (f *file) number() (uint64, bool) {
	text, ok := f.read()
	if !ok {
		return 0, false
	}
	return decimal(bytes.TrimSpace(text))
}
