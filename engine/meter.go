package engine

import (
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect/native"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// reading is all that was read at one tick.
type reading struct {
	mono    int64 // CLOCK_MONOTONIC ns
	wall    time.Time
	t       float64 // seconds since traffic first flowed
	spec    metric.Spec
	streams []streamRef
	load    flow.Reading
	jitter  *metric.Hist // of the near receivers, of this interval
	far     []*native.Stats
	probe   *flow.ProbeReading
	softnet *uint64
	cpu     metric.Num
	self    metric.Num
	late    int
}

// streamRef names a stream of the running load.
type streamRef struct {
	id  uint32
	dir metric.Dir
}

// meter turns readings into Frames: it remembers the last reading of both ends. It knows no clock and no socket.
type meter struct {
	probed    bool // the probe has measured a round trip
	near, far end
	out, in   track
}

// end is what one end last said.
type end struct {
	mono    int64
	load    flow.Reading
	streams map[uint32]uint64 // bytes of each
	softnet uint64
}

// delta is what one end did between two of its readings.
type delta struct {
	ok      bool // it said something
	seconds float64
	was     flow.Reading
	now     flow.Reading
	streams map[uint32]metric.Num // bit/s
	rtt     map[uint32]metric.Num
	jitter  *metric.Hist
	softnet uint64 // packets dropped
}

// track is what was shown of one direction so far, so that a counter that steps back shows as nothing now and less
// later, and never as a negative number.
type track struct {
	lost, expected            counter
	sender, socket, nic, path counter
	probeLost, probePackets   counter
	retrans                   counter
}

// counter shows the growth of a sum.
type counter struct{ shown uint64 }

func (c *counter) grow(now uint64) uint64 {
	if now <= c.shown {
		return 0
	}
	d := now - c.shown
	c.shown = now
	return d
}

// begin makes mono the start of the first interval.
func (m *meter) begin(mono int64) { m.near.mono = mono }

// move takes in a new reading of the end.
func (e *end) move(mono int64, load flow.Reading, jitter *metric.Hist, softnet *uint64) delta {
	d := delta{ok: true, seconds: float64(mono-e.mono) / 1e9, was: e.load, now: load, jitter: jitter,
		streams: make(map[uint32]metric.Num), rtt: make(map[uint32]metric.Num)}
	bytes := make(map[uint32]uint64, len(load.Streams))
	for _, s := range load.Streams {
		bytes[s.ID] = s.Bytes
		d.streams[s.ID] = d.bps(e.streams[s.ID], s.Bytes)
		d.rtt[s.ID] = s.RttMs
	}
	if softnet != nil {
		d.softnet = *softnet - min(e.softnet, *softnet)
		e.softnet = *softnet
	}
	e.mono, e.load, e.streams = mono, load, bytes
	return d
}

// bps is a rate in bit/s, over the end's own time.
func (d *delta) bps(was, now uint64) metric.Num {
	if d.seconds <= 0 || now < was {
		return metric.Num{}
	}
	return metric.N(float64(now-was) * 8 / d.seconds)
}

// farDelta takes in what came of the far end since the last tick, which may be nothing, or more than one.
func (m *meter) farDelta(stats []*native.Stats) delta {
	if len(stats) == 0 {
		return delta{}
	}
	jitter := &metric.Hist{}
	for _, s := range stats {
		jitter.Merge(s.Jitter)
	}
	last := stats[len(stats)-1]
	first := m.far.mono == 0
	d := m.far.move(last.Mono, last.Load, jitter, last.Softnet)
	d.ok = !first && d.seconds > 0 // the first only says where its counters begin
	return d
}

// frames makes the Frames of one tick, one for each direction of the Spec.
func (m *meter) frames(r reading) []*metric.Frame {
	span := float64(r.mono-m.near.mono) / 1e9
	near := m.near.move(r.mono, r.load, r.jitter, r.softnet)
	far := m.farDelta(r.far)
	var out []*metric.Frame
	for _, dir := range r.spec.Mode.Dirs() {
		f := &metric.Frame{T: r.t, Span: span, Time: r.wall, Dir: dir, CPU: r.cpu, SelfCPU: r.self,
			Late: metric.N(float64(r.late))}
		tx, rx, t := &near, &far, &m.out
		if dir == metric.In {
			tx, rx, t = &far, &near, &m.in
		}
		loaded := t.rates(f, r, tx, rx)
		if r.spec.Proto == metric.UDP && loaded {
			t.load(f, tx, rx)
		} else {
			t.probe(f, r.probe)
		}
		if r.probe != nil && (m.probed || !r.probe.RttMs.IsZero()) {
			// Once the probe has answered, TCP's own RTT never stands in for it: the two do not measure the same.
			m.probed = true
			if f.RttMs, f.RttFrom = r.probe.RttMs, metric.FromProbe; f.RttMs.IsZero() {
				f.RttFrom = ""
			}
		}
		out = append(out, f)
	}
	return out
}

// rates fills in what the streams of f's direction carried, and reports whether there are any.
func (t *track) rates(f *metric.Frame, r reading, tx, rx *delta) bool {
	n := 0
	for _, s := range r.streams {
		if s.dir != f.Dir {
			continue
		}
		n++
		sf := metric.StreamFrame{ID: n}
		if tx.ok {
			sf.TxBps, sf.RttMs = tx.streams[s.id], tx.rtt[s.id]
		}
		if rx.ok {
			sf.RxBps = rx.streams[s.id]
		}
		f.Streams = append(f.Streams, sf)
	}
	if n == 0 {
		return false
	}
	if tx.ok {
		f.TxBps = tx.bps(tx.was.Tx.Bytes, tx.now.Tx.Bytes)
		if r.spec.Proto == metric.TCP {
			f.Retransmits = metric.N(float64(t.retrans.grow(tx.now.Tx.Retrans)))
			if rtt := tx.now.Tx.RttMs; !rtt.IsZero() {
				f.RttMs, f.RttFrom = rtt, metric.FromTCP
			}
		}
	}
	if rx.ok {
		f.RxBps = rx.bps(rx.was.Rx.Bytes, rx.now.Rx.Bytes)
	}
	return true
}

// load fills in jitter and loss from UDP load. Without word from the receiver there is none.
func (t *track) load(f *metric.Frame, tx, rx *delta) {
	if !rx.ok {
		return
	}
	got := rx.now.Rx
	if j, ok := got.JitterNs.Get(); ok {
		f.JitterMs, f.JitterFrom = metric.N(j/1e6), metric.FromLoad
		if got.User {
			f.JitterClock = "user"
		}
		if rx.jitter != nil && rx.jitter.N() > 0 {
			f.SetJitter(rx.jitter)
		}
	}
	f.Lost = metric.N(float64(t.lost.grow(got.Lost())))
	f.Packets = metric.N(float64(t.expected.grow(got.Expected)))
	f.LossPct, f.LossFrom = metric.LossPct(f.Lost, f.Packets), metric.FromLoad
	f.LostAt = t.places(tx, rx)
}

// places splits the loss. A drop is counted at once and missed only when a later datagram arrives, so no part is shown
// before the loss that it explains; what none explains happened on the path.
func (t *track) places(tx, rx *delta) *metric.LostAt {
	at := &metric.LostAt{}
	got := rx.now.Rx
	rest := t.lost.shown
	explain := func(c *counter, n uint64) metric.Num {
		grown := c.grow(min(n, rest))
		rest -= min(rest, c.shown)
		return metric.N(float64(grown))
	}
	if tx.ok {
		at.Sender = explain(&t.sender, tx.now.Tx.Refused)
	} else {
		rest -= min(rest, t.sender.shown)
	}
	if !got.NoDrops {
		at.Socket = explain(&t.socket, got.Drops)
	}
	// The backlog is the whole host's: no more of its drops are ours than are still missing.
	missing := rest - min(rest, t.nic.shown+t.path.shown)
	if nic := explain(&t.nic, t.nic.shown+min(rx.softnet, missing)); nic.Or(0) > 0 {
		at.NIC = nic
	}
	at.Path = explain(&t.path, rest)
	return at
}

// probe fills in jitter and loss from the echo stream.
func (t *track) probe(f *metric.Frame, p *flow.ProbeReading) {
	if p == nil || !p.Echoed {
		return
	}
	way := &p.Out
	if f.Dir == metric.In {
		way = &p.Back
	}
	if way.Packets < t.probePackets.shown { // another probe was opened
		t.probeLost, t.probePackets = counter{}, counter{}
	}
	if j, ok := way.JitterNs.Get(); ok {
		f.JitterMs, f.JitterFrom = metric.N(j/1e6), metric.FromProbe
		if p.User {
			f.JitterClock = "user"
		}
		if way.Jitter.N() > 0 {
			h := way.Jitter
			f.SetJitter(&h)
		}
	}
	f.Lost = metric.N(float64(t.probeLost.grow(way.Lost)))
	f.Packets = metric.N(float64(t.probePackets.grow(way.Packets)))
	f.LossPct, f.LossFrom = metric.LossPct(f.Lost, f.Packets), metric.FromProbe
}
