package host

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

const (
	// slowEvery is the time in nanoseconds from one slow reading to the next.
	slowEvery = 1_000_000_000
	// slowShare bounds what slow readings take: one part of this of a processor. Where there are thousands of processes or
	// interrupts, a reading comes less often.
	slowShare = 200
)

// slow reads what is dear, or what the kernel may keep waiting for: it asks under the lock that is held for as long as a
// driver brings its hardware to another setting. So it has a goroutine of its own, and the sampler takes what is there.
type slow struct {
	root, dev string
	ask       chan int64 // the time of the reading asked for
	done      sync.WaitGroup
	got       atomic.Pointer[metric.HostSlow]
	cost      atomic.Int64 // of the last reading, in nanoseconds of a processor
	asked     int64        // the time of the last one; the sampler's

	opened     bool  // this and what follows is the goroutine's
	at         int64 // when it was last read
	cpus       *cpus
	softnet    *Softnet
	interrupts *interrupts
	mibs       *mibs
	top        *top
	link       *link
	driver     *driver // nil without an interface, as is qdiscs
	qdiscs     *qdiscs
	index      int // of the interface
}

func startSlow(root, dev string) *slow {
	s := &slow{root: root, dev: dev, ask: make(chan int64), asked: -slowEvery}
	s.done.Go(s.run)
	return s
}

// open opens everything and reads it for the first time, at mono.
func (s *slow) open(mono int64) {
	s.opened, s.at = true, mono
	s.cpus = openCPUs(s.root)
	s.softnet = OpenSoftnet(s.root)
	s.interrupts = openInterrupts(s.root, s.dev)
	s.mibs = openMIBs(s.root)
	s.top = openTop(s.root)
	s.link = openLink(s.root, s.dev)
	if s.dev != "" {
		s.driver, s.qdiscs = openDriver(s.dev), openQdiscs()
		s.index, _ = s.driver.index()
		s.driver.read()
		s.qdiscs.read(s.index)
	}
}

// poll asks for a reading where one is due, the first of which only says where the counters begin, and returns the one that
// was made since the last call; nil where none was.
func (s *slow) poll(mono int64) *metric.HostSlow {
	if mono-s.asked >= max(slowEvery, s.cost.Load()*slowShare) {
		select {
		case s.ask <- mono:
			s.asked = mono
		default: // it is not done with the last
		}
	}
	return s.got.Swap(nil)
}

func (s *slow) close() {
	close(s.ask)
	s.done.Wait()
	if !s.opened {
		return
	}
	s.cpus.close()
	s.softnet.Close()
	s.interrupts.close()
	s.mibs.close()
	s.top.close()
	s.link.close()
	if s.driver != nil {
		s.driver.close()
		s.qdiscs.close()
	}
}

// run reads when it is asked to. The thread is its own meanwhile, since its clock says what the reading costs.
func (s *slow) run() {
	for mono := range s.ask {
		if !s.opened {
			s.open(mono)
			continue
		}
		runtime.LockOSThread()
		before := threadCPU()
		h := s.read(mono)
		s.cost.Store(threadCPU() - before)
		runtime.UnlockOSThread()
		s.got.Store(h)
	}
}

// threadCPU is the processor time of the calling thread in nanoseconds; 0 where it cannot be read.
func threadCPU() int64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts) != nil {
		return 0
	}
	return ts.Nano()
}

// read is everything since the last reading.
func (s *slow) read(mono int64) *metric.HostSlow {
	h := &metric.HostSlow{Span: float64(mono-s.at) / 1e9}
	s.at = mono
	if s.driver != nil {
		s.found()
		h.Qdiscs = s.qdiscs.read(s.index)
		h.Driver, h.RxMissed = s.driver.read()
	}
	h.CPUs = s.processors()
	h.Interrupts = s.interrupts.read()
	h.MIB = s.mibs.read()
	h.Top = s.top.read(h.Span)
	h.LinkBps, h.Node = s.link.bps(), s.link.numa()
	return h
}

// found looks the interface's device up anew where another has come by the interface's name, as when it was unplugged.
func (s *slow) found() {
	index, ok := s.driver.index()
	if !ok || index == s.index {
		return
	}
	s.index = index
	s.interrupts.lines = findLines(s.root, s.dev)
	s.link.close()
	s.link = openLink(s.root, s.dev)
}

// processors is what each did, or all together where they are many.
func (s *slow) processors() []metric.CPU {
	list := s.cpus.read(nil)
	rows, _ := s.softnet.read()
	for _, r := range rows {
		at, ok := slices.BinarySearchFunc(list, int(r.cpu), func(c metric.CPU, n int) int { return c.N - n })
		if !ok {
			continue
		}
		c := &list[at]
		c.Processed, c.Dropped, c.Squeezed = uint64(r.processed), uint64(r.dropped), uint64(r.squeezed)
	}
	if len(list) <= metric.MaxRows {
		return list
	}
	return []metric.CPU{together(list)}
}

// together is the mean of the shares and the sum of the packets.
func together(list []metric.CPU) metric.CPU {
	all := metric.CPU{N: allCPUs}
	n := float64(len(list))
	for _, c := range list {
		all.Usr += c.Usr / n
		all.Sys += c.Sys / n
		all.Idle += c.Idle / n
		all.Softirq += c.Softirq / n
		all.IRQ += c.IRQ / n
		all.Steal += c.Steal / n
		all.Processed += c.Processed
		all.Dropped += c.Dropped
		all.Squeezed += c.Squeezed
	}
	return all
}
