package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

const second = int64(time.Second)

func udpSpec(mode metric.Mode) metric.Spec {
	return metric.Spec{Proto: metric.UDP, Mode: mode, Streams: 1}
}

// farStats is what a far receiver says at mono of its own clock.
func farStats(mono int64, rx flow.Rx) *dialect.Stats {
	return &dialect.Stats{Mono: mono, Load: flow.Reading{Rx: rx}}
}

// tick is one reading of an UDP load out.
func tick(m *meter, n int64, tx flow.Tx, far ...*dialect.Stats) *metric.Frame {
	r := reading{
		mono: n * second / 10, spec: udpSpec(metric.ModeOut), out: true, far: far, load: flow.Reading{Tx: tx},
	}
	return m.frames(r)[0]
}

func num(t *testing.T, what string, n metric.Num, want float64) {
	t.Helper()
	if v, ok := n.Get(); !ok || v < want*0.999 || v > want*1.001 {
		t.Errorf("%s: %v %v, want %v", what, v, ok, want)
	}
}

func TestFarRateIsOverFarTime(t *testing.T) {
	var m meter
	tick(&m, 1, flow.Tx{}, farStats(500*second, flow.Rx{}))
	f := tick(&m, 2, flow.Tx{Bytes: 1000}, farStats(500*second+second/5, flow.Rx{Bytes: 1000}))
	num(t, "sent", f.TxBps, 80_000)
	num(t, "arrived over the far end's 200 ms", f.RxBps, 40_000)
}

// The far end's first word is where its counters begin, also where the next is there already, and what it said before the
// load is no part of the first interval.
func TestFirstFarIntervalBeginsWithTheLoad(t *testing.T) {
	var m meter
	f := tick(&m, 1, flow.Tx{Bytes: 1000}, farStats(490*second, flow.Rx{}), farStats(500*second, flow.Rx{}),
		farStats(500*second+second/10, flow.Rx{Bytes: 900}))
	num(t, "arrived", f.RxBps, 72_000)
	num(t, "seconds", f.RxSpan, 0.1)
	num(t, "bytes", f.RxBytes(), 900)
}

func TestNoWordFromFarIsAGapThatTheNextCovers(t *testing.T) {
	var m meter
	tick(&m, 1, flow.Tx{}, farStats(500*second, flow.Rx{}))
	f := tick(&m, 2, flow.Tx{Bytes: 1000, Packets: 1})
	if !f.RxBps.IsZero() || !f.Lost.IsZero() || !f.LossPct.IsZero() || f.LostAt != nil {
		t.Errorf("numbers without a report: %+v", f)
	}
	num(t, "sent", f.TxBps, 80_000)
	f = tick(&m, 3, flow.Tx{}, farStats(500*second+second/10, flow.Rx{Bytes: 1000}), farStats(500*second+second/5, flow.Rx{Bytes: 3000}))
	num(t, "arrived", f.RxBps, 120_000)
}

func TestLossPlaces(t *testing.T) {
	type step struct {
		refused, packets, expected, drops uint64
		softnet                           uint64
		lost, sender, socket, nic, path   float64
	}
	for name, steps := range map[string][]step{
		"path":            {{packets: 90, expected: 100, lost: 10, path: 10}},
		"sender":          {{refused: 4, packets: 90, expected: 100, lost: 10, sender: 4, path: 6}},
		"socket":          {{drops: 10, packets: 90, expected: 100, lost: 10, socket: 10}},
		"drop seen early": {{drops: 10, packets: 90, expected: 90}, {drops: 10, packets: 180, expected: 200, lost: 20, socket: 10, path: 10}},
		"backlog":         {{softnet: 3, packets: 90, expected: 100, lost: 10, nic: 3, path: 7}},
		"others' backlog": {{softnet: 500, packets: 90, expected: 100, lost: 10, nic: 10}},
		"drop seen late":  {{packets: 90, expected: 100, lost: 10, path: 10}, {drops: 10, packets: 185, expected: 200, lost: 5, socket: 5}, {drops: 10, packets: 275, expected: 300, lost: 10, socket: 5, path: 5}},
		"reordered":       {{packets: 90, expected: 100, lost: 10, path: 10}, {packets: 105, expected: 105}, {packets: 190, expected: 205, lost: 5, path: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			var m meter
			tick(&m, 1, flow.Tx{}, farStats(second, flow.Rx{}))
			var softnet uint64
			for i, s := range steps {
				n := int64(i + 2)
				softnet += s.softnet
				st := farStats(n*second, flow.Rx{Packets: s.packets, Expected: s.expected, Drops: s.drops})
				st.Softnet = &softnet
				f := tick(&m, n, flow.Tx{Refused: s.refused}, st)
				num(t, "lost", f.Lost, s.lost)
				num(t, "sender", f.LostAt.Sender, s.sender)
				num(t, "socket", f.LostAt.Socket, s.socket)
				num(t, "path", f.LostAt.Path, s.path)
				if f.LostAt.NIC.Or(0) != s.nic {
					t.Errorf("nic: %v, want %v", f.LostAt.NIC, s.nic)
				}
			}
		})
	}
}

func TestSocketDropsNotCounted(t *testing.T) {
	var m meter
	tick(&m, 1, flow.Tx{}, farStats(second, flow.Rx{}))
	f := tick(&m, 2, flow.Tx{}, farStats(2*second, flow.Rx{Packets: 9, Expected: 10, NoDrops: true}))
	if !f.LostAt.Socket.IsZero() || !f.LostAt.NIC.IsZero() {
		t.Errorf("%+v", f.LostAt)
	}
}

func TestSilentProbeIsAbsent(t *testing.T) {
	for _, p := range []*flow.ProbeReading{nil, {}} {
		var m meter
		r := reading{mono: second, spec: metric.DefaultSpec(), probe: p}
		f := m.frames(r)[0]
		if !f.Lost.IsZero() || !f.LossPct.IsZero() || f.LossFrom != "" || !f.RttMs.IsZero() {
			t.Errorf("%+v", f)
		}
	}
}

// A loss of the probe belongs to its interval, whether it was shown or not.
func TestProbeLossDoesNotPileUp(t *testing.T) {
	var m meter
	at := int64(0)
	read := func(mode metric.Mode, proto metric.Proto, lost uint64) *metric.Frame {
		at++
		way := flow.ProbeCount{Packets: uint64(at) * 20, Lost: lost}
		r := reading{mono: at * second / 10, spec: metric.Spec{Proto: proto, Mode: mode}, out: true,
			probe: &flow.ProbeReading{Echoed: true, Out: way, Back: way}}
		return m.frames(r)[0]
	}
	read(metric.ModeOut, metric.TCP, 0)
	if f := read(metric.ModeOut, metric.UDP, 7); f.LossFrom == metric.FromProbe {
		t.Errorf("UDP shows the probe's loss: %+v", f)
	}
	f := read(metric.ModeOut, metric.TCP, 8)
	num(t, "lost out", f.Lost, 1)
	num(t, "packets out", f.Packets, 20)
	num(t, "lost in, not shown before", read(metric.ModeIn, metric.TCP, 10).Lost, 2)
}

// What the estimators and TCP_INFO last said is not measured again by an interval in which nothing came.
func TestNothingNewIsAbsent(t *testing.T) {
	var m meter
	jitter := func(n int) *metric.Hist {
		h := &metric.Hist{}
		for range n {
			h.Add(5000)
		}
		return h
	}
	probe := func(n int) *flow.ProbeReading {
		c := flow.ProbeCount{Packets: 20, JitterNs: metric.N(4000), Jitter: *jitter(n)}
		return &flow.ProbeReading{Echoed: true, Out: c, Back: c}
	}
	tcp := func(n int64, acked uint64, jitters int) *metric.Frame {
		tx := flow.Tx{Bytes: acked, RttMs: metric.N(3)}
		return m.frames(reading{mono: n * second / 10, spec: metric.Spec{Proto: metric.TCP, Mode: metric.ModeOut}, out: true,
			load: flow.Reading{Tx: tx}, probe: probe(jitters)})[0]
	}
	f := tcp(1, 1000, 3)
	num(t, "jitter", f.JitterMs, 0.004)
	num(t, "rtt", f.RttMs, 3)
	f = tcp(2, 1000, 0)
	if !f.JitterMs.IsZero() || f.JitterFrom != "" || !f.RttMs.IsZero() || f.RttFrom != "" {
		t.Errorf("of a dead path: %+v", f)
	}

	m = meter{}
	udp := func(n int64, jitters int) *metric.Frame {
		st := farStats(n*second/10, flow.Rx{JitterNs: metric.N(4000)})
		st.Jitter = jitter(jitters)
		return tick(&m, n, flow.Tx{}, st)
	}
	udp(1, 3)
	num(t, "jitter of the load", udp(2, 3).JitterMs, 0.004)
	if f := udp(3, 0); !f.JitterMs.IsZero() || f.JitterFrom != "" {
		t.Errorf("of a load that does not arrive: %+v", f)
	}
}

func TestMissed(t *testing.T) {
	for _, rate := range []int64{0, 1e6} {
		var m meter
		spec := udpSpec(metric.ModeOut)
		spec.RateBps = rate
		read := func(n int64, missed uint64) *metric.Frame {
			return m.frames(reading{mono: n * second / 10, spec: spec, out: true, load: flow.Reading{Tx: flow.Tx{Missed: missed}}})[0]
		}
		read(1, 3)
		f := read(2, 8)
		if rate == 0 {
			if !f.Missed.IsZero() {
				t.Errorf("without a schedule %v were missed", f.Missed)
			}
			continue
		}
		num(t, "missed", f.Missed, 5)
	}
}

// The tail of UDP load that ended within the interval counts in it.
func TestTailOfEndedLoadCounts(t *testing.T) {
	var m meter
	tick(&m, 1, flow.Tx{}, farStats(second, flow.Rx{}))
	f := m.frames(reading{mono: second / 5, spec: udpSpec(metric.ModeOut),
		far: []*dialect.Stats{farStats(2*second, flow.Rx{Packets: 9, Expected: 10})}})[0]
	num(t, "lost", f.Lost, 1)
	if f.LossFrom != metric.FromLoad {
		t.Errorf("from %q", f.LossFrom)
	}
}

// A stock receiver tells of a test when that is over, perhaps when no load flows any more: how much arrived, and in what time.
func TestStockReceiverTellsAtTheEnd(t *testing.T) {
	var m meter
	told := func(mono int64, rx flow.Rx) *dialect.Stats {
		s := farStats(mono, rx)
		s.OneJitter = true
		return s
	}
	tick(&m, 1, flow.Tx{}, told(1, flow.Rx{}))
	f := m.frames(reading{mono: second / 5, spec: udpSpec(metric.ModeOut),
		far: []*dialect.Stats{told(1+second/2, flow.Rx{Bytes: 1000, Packets: 10, Expected: 10})}})[0]
	num(t, "arrived", f.RxBps, 16_000)
	num(t, "in", f.RxSpan, 0.5)
	num(t, "packets", f.Packets, 10)
	if !f.TxBps.IsZero() {
		t.Errorf("sent %v while nothing was", f.TxBps)
	}
}

func TestMetronome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		m := metronome{next: start.Add(interval), every: interval}
		at := func(d time.Duration) time.Time { return start.Add(d) }
		for _, s := range []struct {
			now  time.Duration
			late int
			wait time.Duration
		}{
			{100 * time.Millisecond, 0, 100 * time.Millisecond},
			{240 * time.Millisecond, 0, 60 * time.Millisecond}, // under half an interval
			{360 * time.Millisecond, 1, 40 * time.Millisecond},
			{720 * time.Millisecond, 3, 80 * time.Millisecond}, // 400, 500 and 600 were passed over, 700 is in time
		} {
			timer := time.NewTimer(s.now - time.Since(start))
			<-timer.C
			if late := m.advance(time.Now()); late != s.late {
				t.Errorf("at %v: %d late, want %d", s.now, late, s.late)
			}
			if w := m.wait(at(s.now)); w != s.wait {
				t.Errorf("at %v: waits %v, want %v", s.now, w, s.wait)
			}
		}
	})
}

// What limited a sender is a share of the time that it was busy, of this interval only.
func TestLimited(t *testing.T) {
	var m meter
	at := func(n int64, tx flow.Tx) *metric.Frame {
		spec := metric.DefaultSpec()
		return m.frames(reading{mono: n * second / 10, spec: spec, out: true, load: flow.Reading{Tx: tx}})[0]
	}
	at(1, flow.Tx{Bytes: 1, BusyUs: 1000, RwndUs: 1000})
	f := at(2, flow.Tx{Bytes: 2, BusyUs: 101_000, RwndUs: 26_000, CwndBytes: metric.N(5)})
	if f.Limited == nil {
		t.Fatalf("frame %+v", f)
	}
	num(t, "by the receiver's window", f.Limited.RwndPct, 25)
	if v, ok := f.Limited.SndbufPct.Get(); !ok || v != 0 {
		t.Errorf("by the send buffer: %v %v", v, ok)
	}
	num(t, "window", f.CwndBytes, 5)
	if f := at(3, flow.Tx{Bytes: 3, BusyUs: 101_000, RwndUs: 26_000}); f.Limited != nil {
		t.Errorf("a kernel that does not say: %+v", f.Limited)
	}
	if f := at(4, flow.Tx{Bytes: 3, BusyUs: 201_000, CwndBytes: metric.N(5)}); !f.CwndBytes.IsZero() {
		t.Errorf("a window of a stream that stands still: %+v", f)
	}
}
