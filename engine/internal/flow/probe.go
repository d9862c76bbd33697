package flow

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// probeTimeout is how long an unanswered probe datagram is waited for, in nanoseconds.
const probeTimeout = 1_000_000_000

// Probe is the near end of the echo stream.
type Probe struct {
	out *UDPSender
	in  *echoes
}

// NewProbe takes over the connected socket fd, which [DialUDP] made, and sends perSecond datagrams a second.
func NewProbe(fd int, id, tag uint32, perSecond int) (*Probe, error) {
	twin, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	p := &Probe{
		out: newUDPSender(fd, kindProbe, id, tag, ProbeSize, probeRate(perSecond)),
		in:  &echoes{b: newBatch(reflectBatch, ProbeSize, true), id: id, tag: tag},
	}
	p.in.own(twin, p.in.receive)
	return p, nil
}

func probeRate(perSecond int) int64 { return int64(perSecond) * ProbeSize * 8 }

// Start lets it run.
func (p *Probe) Start() {
	p.in.Start()
	p.out.Start()
}

// SetRate changes the datagrams a second; at least 1.
func (p *Probe) SetRate(perSecond int) error { return p.out.SetRate(probeRate(max(perSecond, 1))) }

// Close ends it.
func (p *Probe) Close() error { return errors.Join(p.out.Close(), p.in.Close()) }

// ProbeReading is what the probe has found. Counters only grow; the rest is of the interval since the last reading.
type ProbeReading struct {
	Echoed    bool       // the far side has answered at least once; without it nothing else is known
	Out, Back ProbeCount // the two ways
	RttMs     metric.Num // mean of the interval, without the time spent in the far side
	User      bool       // a receive stamp of either end was taken in user space
}

// ProbeCount is one way of the probe.
type ProbeCount struct {
	Packets  uint64 // that should have arrived
	Lost     uint64
	JitterNs metric.Num // RFC 3550 section 6.4.1, now
	Jitter   metric.Hist
}

// Read takes a reading at mono.
func (p *Probe) Read(mono int64) *ProbeReading { return p.in.read(mono, p.out.seq.Load()) }

// echoes takes in the answers.
type echoes struct {
	thread
	b       *batch
	id, tag uint32

	found struct {
		sync.Mutex
		probeState
	}
}

func (e *echoes) receive() error {
	for !e.stop.Load() {
		n, err := e.b.receive(e.fd)
		if err != nil {
			if e.stop.Load() {
				return nil
			}
			if passing(err.(unix.Errno)) {
				continue
			}
			return os.NewSyscallError("receive", err)
		}
		e.found.Lock()
		for i := range n {
			at, kernel := e.b.stamp(i)
			if !kernel {
				at = Wall()
			}
			var h header
			var far echo
			b := e.b.received(i)
			if h.get(b) && far.get(b) && h.kind == kindEcho && h.id == e.id && h.tag == e.tag {
				e.found.add(h, far, at, kernel && h.flags&flagKernel != 0)
			}
		}
		e.found.Unlock()
	}
	return nil
}

func (e *echoes) read(mono int64, sent uint64) *ProbeReading {
	e.found.Lock()
	defer e.found.Unlock()
	return e.found.read(mono, sent)
}

// probeState turns echoes into losses, round trips and jitter. It knows no socket.
type probeState struct {
	seen     window
	farCount uint64
	rttSum   int64
	rttN     int64
	out, in  transit
	user     bool
	sends    []sendMark
	settled  uint64 // datagrams sent more than probeTimeout ago
	lostOut  uint64 // shown so far; a loss that turns out to be none is a debt that later losses pay
	lostBack uint64
}

// sendMark remembers how many had been sent when.
type sendMark struct {
	at   int64
	sent uint64
}

// add takes in an echo received at near's CLOCK_REALTIME.
func (p *probeState) add(h header, far echo, at int64, kernel bool) {
	if !p.seen.see(h.seq) {
		return
	}
	p.farCount = max(p.farCount, far.count)
	p.user = p.user || !kernel
	if rtt := at - h.sent - (far.sent - far.received); rtt >= 0 {
		p.rttSum += rtt
		p.rttN++
	}
	p.out.add(far.received - h.sent)
	p.in.add(at - far.sent)
}

// read is the reading at mono, when sent had been sent.
func (p *probeState) read(mono int64, sent uint64) *ProbeReading {
	p.sends = append(p.sends, sendMark{mono, sent})
	for len(p.sends) > 0 && p.sends[0].at <= mono-probeTimeout {
		p.settled = p.sends[0].sent
		p.sends = p.sends[1:]
	}
	r := &ProbeReading{Echoed: p.seen.distinct > 0, User: p.user}
	if !r.Echoed {
		return r
	}
	expected := max(p.seen.next, p.settled)
	p.lostOut = max(p.lostOut, expected-min(expected, p.farCount))
	p.lostBack = max(p.lostBack, p.farCount-min(p.farCount, p.seen.distinct))
	r.Out = ProbeCount{Packets: expected, Lost: p.lostOut, JitterNs: p.out.estimate()}
	r.Back = ProbeCount{Packets: p.farCount, Lost: p.lostBack, JitterNs: p.in.estimate()}
	p.out.take(&r.Out.Jitter)
	p.in.take(&r.Back.Jitter)
	if p.rttN > 0 {
		r.RttMs = metric.N(float64(p.rttSum) / float64(p.rttN) / 1e6)
	}
	p.rttSum, p.rttN = 0, 0
	return r
}
