package host

import "github.com/ethtune/ethtune/engine/metric"

// Sampler reads the host that carries the traffic. It is for one goroutine.
type Sampler struct {
	busy    *Busy
	softnet *Softnet
	device  *device // nil without an interface
	slow    *slow
}

// Reading is what was read at one tick, of the time since the last.
type Reading struct {
	Busy  metric.Num   // share of all processors, percent
	Drops *uint64      // packets dropped for a full backlog since the Sampler was opened; nil where that is not known
	Host  *metric.Host // nil where nothing was read
}

// Open opens what the kernel has below root of this process's network namespace, and of the interface dev in it, which may
// be empty. It is the caller's to close.
func Open(root, dev string) *Sampler {
	s := &Sampler{busy: OpenBusy(root), softnet: OpenSoftnet(root), slow: startSlow(root, dev)}
	if dev != "" {
		s.device = openDevice(root, dev)
	}
	return s
}

// Read reads all at mono, CLOCK_MONOTONIC in nanoseconds. It waits for no lock that is held while a driver works.
func (s *Sampler) Read(mono int64) Reading {
	r := Reading{Busy: s.busy.Share()}
	h := metric.Host{Slow: s.slow.poll(mono)}
	sums, drops := s.softnet.sums()
	if h.Softnet = sums; sums != nil {
		r.Drops = &drops
	}
	if s.device != nil {
		h.NIC = s.device.read()
	}
	if h != (metric.Host{}) {
		r.Host = &h
	}
	return r
}

// Close ends the reading, once a slow one that is under way has ended.
func (s *Sampler) Close() {
	s.slow.close()
	s.busy.Close()
	s.softnet.Close()
	if s.device != nil {
		s.device.close()
	}
}
