package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// reading is all that was read at one tick.
type reading struct {
	mono    int64 // CLOCK_MONOTONIC ns
	wall    time.Time
	t       float64 // seconds since traffic first flowed
	spec    metric.Spec
	out, in bool // whether streams of the load go that way
	load    flow.Reading
	jitter  *metric.Hist // of the near receivers, of this interval
	far     []*dialect.Stats
	probe   *flow.ProbeReading
	softnet *uint64
	cpu     metric.Num
	self    metric.Num
	host    *metric.Host
	late    int
}

// meter turns readings into Frames: it remembers the last reading of both ends. It knows no clock and no socket.
type meter struct {
	probed    bool // the probe has measured a round trip
	near, far end
	out, in   track
	doubt     doubt
}

// end is what one end last said.
type end struct {
	mono    int64
	load    flow.Reading
	softnet uint64
}

// delta is what one end did between two of its readings.
type delta struct {
	ok      bool // it said something
	seconds float64
	was     flow.Reading
	now     flow.Reading
	jitter  *metric.Hist
	lag     *metric.Hist
	one     bool   // its jitter is one number
	softnet uint64 // packets dropped
	backlog bool   // whether that is known
}

// track is what was shown of one direction so far, so that a counter that steps back shows as nothing now and less
// later, and never as a negative number.
type track struct {
	lost, expected          counter
	sender, socket          counter
	split                   uint64 // of lost, what was told by place
	probeLost, probePackets counter
	retrans, missed         counter
	reordered, duplicates   counter
}

// growth is what happened in one direction in one interval.
type growth struct {
	retrans, missed       metric.Num
	reordered, duplicates metric.Num
	load, probe           loss
	at                    *metric.LostAt // where the load's was
}

// loss is lost of packets.
type loss struct{ lost, packets metric.Num }

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
	d := delta{ok: true, seconds: float64(mono-e.mono) / 1e9, was: e.load, now: load, jitter: jitter, lag: load.Rx.Lag}
	if softnet != nil {
		d.softnet, d.backlog = *softnet-min(e.softnet, *softnet), true
		e.softnet = *softnet
	}
	e.mono, e.load = mono, load
	return d
}

// bps is a rate in bit/s, and the seconds of the end's own time that it is of.
func (d *delta) bps(was, now uint64) (rate, seconds metric.Num) {
	if d.seconds <= 0 || now < was {
		return metric.Num{}, metric.Num{}
	}
	return metric.N(float64(now-was) * 8 / d.seconds), metric.N(d.seconds)
}

// farDelta takes in what came of the far end since the last tick, which may be nothing, or more than one.
func (m *meter) farDelta(stats []*dialect.Stats) delta {
	if len(stats) == 0 {
		return delta{}
	}
	first := m.far.mono == 0
	if first {
		// It only says where the counters begin. What came before the load is no part of the first interval.
		for len(stats) > 1 && idle(stats[1].Load) {
			stats = stats[1:]
		}
		m.far.move(stats[0].Mono, stats[0].Load, nil, stats[0].Softnet)
		if stats = stats[1:]; len(stats) == 0 {
			return delta{}
		}
	}
	jitter, lag := &metric.Hist{}, &metric.Hist{}
	for _, s := range stats {
		jitter.Merge(s.Jitter)
		lag.Merge(s.Load.Rx.Lag)
	}
	last := stats[len(stats)-1]
	d := m.far.move(last.Mono, last.Load, jitter, last.Softnet)
	d.lag, d.one = lag, last.OneJitter
	d.ok = d.seconds > 0
	return d
}

// idle reports whether no load has flowed yet.
func idle(r flow.Reading) bool { return r.Tx.Bytes == 0 && r.Rx.Bytes == 0 }

// frames makes the Frames of one tick, one for each direction of the Spec.
func (m *meter) frames(r reading) []*metric.Frame {
	span := float64(r.mono-m.near.mono) / 1e9
	near := m.near.move(r.mono, r.load, r.jitter, r.softnet)
	far := m.farDelta(r.far)
	var there, back *flow.ProbeCount
	if r.probe != nil && r.probe.Echoed {
		there, back = &r.probe.Out, &r.probe.Back
	}
	var out []*metric.Frame
	for _, way := range []struct {
		dir    metric.Dir
		loaded bool
		track  *track
		tx, rx *delta
		probe  *flow.ProbeCount
	}{
		{metric.Out, r.out, &m.out, &near, &far, there},
		{metric.In, r.in, &m.in, &far, &near, back},
	} {
		g := way.track.grow(way.tx, way.rx, way.probe)
		if !slices.Contains(r.spec.Mode.Dirs(), way.dir) {
			continue
		}
		f := &metric.Frame{T: r.t, Span: span, Time: r.wall, Dir: way.dir, CPU: r.cpu, SelfCPU: r.self,
			Late: metric.N(float64(r.late))}
		if way.rx.ok && way.rx.backlog {
			f.SoftnetDrops = metric.N(float64(way.rx.softnet))
		}
		switch {
		case way.loaded:
			rates(f, r.spec, g, way.tx, way.rx)
		case way.rx.one: // it tells of load that has just ended
			arrived(f, way.rx)
		}
		// Of UDP load that has just ended the last datagrams count as well.
		if r.spec.Proto == metric.UDP && way.loaded || g.load.packets.Or(0) > 0 {
			loadLoss(f, g, way.rx)
		} else if way.probe != nil {
			probeLoss(f, g, way.probe, r.probe.User)
		}
		m.probeRTT(f, r.probe)
		if len(out) == 0 { // the host is none of the directions', and is told of once
			f.Host = r.host
		}
		out = append(out, f)
	}
	m.doubt.judge(out, r.host)
	return out
}

// probeRTT fills in the round trip of the probe. Once it has answered, TCP's own never stands in for it: the two do not
// measure the same.
func (m *meter) probeRTT(f *metric.Frame, p *flow.ProbeReading) {
	if p == nil || !m.probed && p.RttMs.IsZero() {
		return
	}
	m.probed = true
	f.RttMs, f.RttFrom = p.RttMs, ""
	if !p.RttMs.IsZero() {
		f.RttFrom = metric.FromProbe
	}
}

// rates fills in what the streams of f's direction carried.
func rates(f *metric.Frame, spec metric.Spec, g growth, tx, rx *delta) {
	arrived(f, rx)
	if !tx.ok {
		return
	}
	f.TxCPUs = tx.now.TxCPUs
	f.TxBps, f.TxSpan = tx.bps(tx.was.Tx.Bytes, tx.now.Tx.Bytes)
	if spec.Proto == metric.UDP {
		f.TxMode = sendMode(tx.now.Tx)
		if spec.RateBps > 0 { // without a rate there is no schedule to miss
			f.Missed = g.missed
		}
		return
	}
	f.Retransmits = g.retrans
	// Where nothing was acknowledged the kernel still has its last round trip, which is none of this interval.
	if tx.now.Tx.Bytes <= tx.was.Tx.Bytes {
		return
	}
	now, was := tx.now.Tx, tx.was.Tx
	if rtt := now.RttMs; !rtt.IsZero() {
		f.RttMs, f.RttFrom = rtt, metric.FromTCP
	}
	f.MinRttMs, f.CwndBytes, f.DeliveryBps = now.MinRttMs, now.CwndBytes, now.DeliveryBps
	if now.BusyUs > was.BusyUs && now.RwndUs >= was.RwndUs && now.SndbufUs >= was.SndbufUs {
		busy := float64(now.BusyUs - was.BusyUs)
		f.Limited = &metric.Limited{
			RwndPct:   metric.N(min(100, 100*float64(now.RwndUs-was.RwndUs)/busy)),
			SndbufPct: metric.N(min(100, 100*float64(now.SndbufUs-was.SndbufUs)/busy)),
		}
	}
}

// arrived fills in what came to the receiver of f's direction.
func arrived(f *metric.Frame, rx *delta) {
	if !rx.ok {
		return
	}
	f.RxBps, f.RxSpan = rx.bps(rx.was.Rx.Bytes, rx.now.Rx.Bytes)
	f.RxMode = receiveMode(rx.now.Rx)
	f.RxCPUs = rx.now.RxCPUs
}

// sendMode is how UDP streams are sent now; empty while none runs, and for TCP.
func sendMode(t flow.Tx) string {
	switch {
	case t.GSO > 1:
		return fmt.Sprintf("gso %d", t.GSO)
	case t.Batch > 1:
		return fmt.Sprintf("sendmmsg %d", t.Batch)
	case t.Batch == 1:
		return "write"
	}
	return ""
}

// receiveMode is how they are received.
func receiveMode(r flow.Rx) string {
	switch {
	case r.GRO:
		return fmt.Sprintf("gro %d", r.Batch)
	case r.Batch > 1:
		return fmt.Sprintf("recvmmsg %d", r.Batch)
	case r.Batch == 1:
		return "read"
	}
	return ""
}

// loadLoss fills in jitter and loss from UDP load. Without word from the receiver there is none.
func loadLoss(f *metric.Frame, g growth, rx *delta) {
	if !rx.ok {
		return
	}
	setJitter(f, rx.now.Rx.JitterNs, rx.jitter, metric.FromLoad, rx.now.Rx.User)
	if j, ok := rx.now.Rx.JitterNs.Get(); ok && rx.one {
		f.JitterMs, f.JitterFrom = metric.N(j/1e6), metric.FromLoad
	}
	f.SetLag(rx.lag)
	f.Reordered, f.Duplicates = g.reordered, g.duplicates
	if extent := rx.now.Rx.Extent; extent > 0 {
		f.ReorderExtent = metric.N(float64(extent))
	}
	f.Epoch = rx.now.Rx.Epoch
	f.Lost, f.Packets, f.LostAt = g.load.lost, g.load.packets, g.at
	f.LossPct, f.LossFrom = metric.LossPct(f.Lost, f.Packets), metric.FromLoad
}

// probeLoss fills in jitter and loss from the echo stream.
func probeLoss(f *metric.Frame, g growth, way *flow.ProbeCount, user bool) {
	h := way.Jitter
	setJitter(f, way.JitterNs, &h, metric.FromProbe, user)
	f.Lost, f.Packets = g.probe.lost, g.probe.packets
	f.LossPct, f.LossFrom = metric.LossPct(f.Lost, f.Packets), metric.FromProbe
}

// setJitter fills in a jitter of ns nanoseconds, with h, where the interval has any: an estimator to which nothing came
// still says what it last said.
func setJitter(f *metric.Frame, ns metric.Num, h *metric.Hist, from string, user bool) {
	j, ok := ns.Get()
	if !ok || h == nil || h.N() == 0 {
		return
	}
	f.JitterMs, f.JitterFrom = metric.N(j/1e6), from
	if user {
		f.JitterClock = "user"
	}
	f.SetJitter(h)
}

// grow brings every counter up to date, also those that are not shown now: what they grew by meanwhile is of no later
// interval. The probe's are left alone where way is nil.
func (t *track) grow(tx, rx *delta, way *flow.ProbeCount) growth {
	var g growth
	if tx.ok {
		g.retrans = metric.N(float64(t.retrans.grow(tx.now.Tx.Retrans)))
		g.missed = metric.N(float64(t.missed.grow(tx.now.Tx.Missed)))
	}
	if rx.ok {
		g.load.lost = metric.N(float64(t.lost.grow(rx.now.Rx.Lost())))
		g.load.packets = metric.N(float64(t.expected.grow(rx.now.Rx.Expected)))
		g.reordered = metric.N(float64(t.reordered.grow(rx.now.Rx.Reordered)))
		g.duplicates = metric.N(float64(t.duplicates.grow(rx.now.Rx.Duplicates)))
		g.at = t.places(tx, rx)
	}
	if way == nil {
		return g
	}
	if way.Packets < t.probePackets.shown { // another probe was opened
		t.probeLost, t.probePackets = counter{}, counter{}
	}
	g.probe.lost = metric.N(float64(t.probeLost.grow(way.Lost)))
	g.probe.packets = metric.N(float64(t.probePackets.grow(way.Packets)))
	return g
}

// places splits the loss that is not yet split. A drop is counted at once and missed only when a later datagram arrives, so
// no part is shown before the loss that it explains; what none explains happened on the path. A place that counts late
// explains a later loss: the parts of every Frame are its loss, no more and no less.
func (t *track) places(tx, rx *delta) *metric.LostAt {
	rest := t.lost.shown - t.split
	t.split = t.lost.shown
	explain := func(c *counter, n uint64) metric.Num {
		grown := c.grow(min(n, c.shown+rest))
		rest -= grown
		return metric.N(float64(grown))
	}
	at := &metric.LostAt{}
	if tx.ok {
		at.Sender = explain(&t.sender, tx.now.Tx.Refused)
	}
	if got := rx.now.Rx; !got.NoDrops {
		at.Socket = explain(&t.socket, got.Drops)
	}
	// The backlog is the whole host's: no more of its drops are ours than are still missing.
	if nic := min(rx.softnet, rest); nic > 0 {
		at.NIC = metric.N(float64(nic))
		rest -= nic
	}
	at.Path = metric.N(float64(rest))
	return at
}
