package flow

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// probeTimeout is how long an unanswered probe datagram is waited for, in nanoseconds.
const probeTimeout = 1_000_000_000

// Probe is the near end of the echo stream. A goroutine sends a datagram a beat. Nobody waits for the echoes, which would
// double the wake-ups: the kernel stamps them when they come, and they are taken in every few beats and at a reading.
type Probe struct {
	beat    *beat
	id, tag uint32
	done    sync.WaitGroup

	mu      sync.Mutex // guards what follows
	fd      int
	started bool
	closed  bool
	out     *batch // of one datagram
	in      *batch
	sent    uint64
	state   probeState
}

// NewProbe takes over the connected socket fd, which [DialUDP] made, unless there is an error. It is to send perSecond
// datagrams a second.
func NewProbe(fd int, id, tag uint32, perSecond int) (*Probe, error) {
	b, err := newBeat(probePeriod(perSecond))
	if err != nil {
		return nil, err
	}
	return &Probe{
		beat: b,
		id:   id,
		tag:  tag,
		fd:   fd,
		out:  newBatch(1, ProbeSize, false),
		in:   newBatch(reflectBatch, ProbeSize, true),
	}, nil
}

func probePeriod(perSecond int) time.Duration { return time.Second / time.Duration(max(perSecond, 1)) }

// Start lets it run. The first datagram leaves a period later: the kernel begins to stamp some time after it was asked to
// (net/core/dev.c, net_enable_timestamp). After Close it does nothing.
func (p *Probe) Start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.started || p.closed {
		return
	}
	p.started = true
	p.done.Go(func() {
		for p.beat.wait() {
			p.turn()
		}
	})
}

// SetRate changes the datagrams a second; at least 1.
func (p *Probe) SetRate(perSecond int) error { return p.beat.set(probePeriod(perSecond)) }

// Close ends it and closes the socket. It may be called more than once and by any goroutine.
func (p *Probe) Close() error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	p.mu.Unlock()
	err := p.beat.close()
	p.done.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(err, unix.Close(p.fd))
}

// Read takes a reading at mono.
func (p *Probe) Read(mono int64) *ProbeReading {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.takeIn()
	}
	return p.state.read(mono, p.sent)
}

// turn is what is done at a beat: one datagram is due, however late the beat is.
func (p *Probe) turn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	if p.sent%takeInEvery == 0 {
		p.takeIn()
	}
	h := header{kind: kindProbe, id: p.id, tag: p.tag, seq: p.sent, sent: Wall(), flags: flagHead}
	h.put(p.out.data(0))
	_, err := p.out.post(p.fd, 1)
	if err != unix.EAGAIN && err != unix.EINTR { // what the kernel refused is lost on the way out
		p.sent++
	}
}

const (
	// takeInEvery is how many datagrams are sent between two looks at the socket; their echoes fit one batch.
	takeInEvery = reflectBatch / 2
	// maxTakeIn bounds the batches taken in at once: whoever floods the socket does not keep the probe from sending.
	maxTakeIn = 16
)

// takeIn takes in the echoes that are there.
func (p *Probe) takeIn() {
	for range maxTakeIn {
		n, err := p.in.poll(p.fd)
		for i := range n {
			p.echoed(i)
		}
		if err == unix.EAGAIN || err == nil && n < p.in.len() {
			return
		}
	}
}

// echoed takes in the i-th datagram received.
func (p *Probe) echoed(i int) {
	at, kernel := p.in.stamp(i)
	if !kernel {
		at = 0
	}
	var h header
	var far echo
	b := p.in.received(i)
	if h.get(b) && far.get(b) && h.kind == kindEcho && h.id == p.id && h.tag == p.tag {
		p.state.add(h, far, at, kernel && h.flags&flagKernel != 0)
	}
}

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

// add takes in an echo received at near's CLOCK_REALTIME. At is 0 where the kernel did not stamp it: the time it was read
// at would be a beat too late, so it counts for no more than loss and the way out.
func (p *probeState) add(h header, far echo, at int64, kernel bool) {
	if !p.seen.see(h.seq) {
		return
	}
	p.farCount = max(p.farCount, far.count)
	p.user = p.user || !kernel
	p.out.add(far.received - h.sent)
	if at == 0 {
		return
	}
	p.in.add(at - far.sent)
	if rtt := at - h.sent - (far.sent - far.received); rtt >= 0 && rtt < clockSet {
		p.rttSum += rtt
		p.rttN++
	}
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
