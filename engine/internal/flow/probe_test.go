package flow

import "testing"

// probeStep is what one probe datagram met.
type probeStep struct {
	lostOut, lostBack bool
}

func TestProbeLoss(t *testing.T) {
	ok, out, back := probeStep{}, probeStep{lostOut: true}, probeStep{lostBack: true}
	for name, c := range map[string]struct {
		steps              []probeStep
		expected, arrived  uint64
		lostOut, lostBack  uint64
		echoed             bool
		late               bool // read again after the time-out
		lateOut, lateBack_ uint64
	}{
		"clean":      {steps: []probeStep{ok, ok, ok}, expected: 3, arrived: 3, echoed: true},
		"out":        {steps: []probeStep{ok, out, ok}, expected: 3, arrived: 2, lostOut: 1, echoed: true},
		"back":       {steps: []probeStep{ok, back, ok}, expected: 3, arrived: 3, lostBack: 1, echoed: true},
		"both":       {steps: []probeStep{out, back, ok}, expected: 3, arrived: 2, lostOut: 1, lostBack: 1, echoed: true},
		"never":      {steps: []probeStep{out, back}},
		"tail":       {steps: []probeStep{ok, out, out}, expected: 1, arrived: 1, echoed: true, late: true, lateOut: 2},
		"still away": {steps: []probeStep{ok, out}, expected: 1, arrived: 1, echoed: true},
	} {
		t.Run(name, func(t *testing.T) {
			var p probeState
			var arrived uint64
			for i, s := range c.steps {
				if s.lostOut {
					continue
				}
				arrived++
				if !s.lostBack {
					p.add(header{seq: uint64(i), sent: 100}, echo{count: arrived, received: 150, sent: 170}, 220, true)
				}
			}
			sent := uint64(len(c.steps))
			r := p.read(0, sent)
			if r.Echoed != c.echoed || r.Out.Packets != c.expected || r.Back.Packets != c.arrived ||
				r.Out.Lost != c.lostOut || r.Back.Lost != c.lostBack {
				t.Errorf("echoed %v, out %d/%d, back %d/%d", r.Echoed, r.Out.Lost, r.Out.Packets, r.Back.Lost, r.Back.Packets)
			}
			if c.echoed {
				if v := r.RttMs.Or(-1); v != 0.0001 { // 120 ns there and back, 20 of them in the far side
					t.Errorf("rtt %v", v)
				}
			}
			if r = p.read(probeTimeout, sent); c.late && r.Out.Lost != c.lateOut {
				t.Errorf("after the time-out %d lost out, want %d", r.Out.Lost, c.lateOut)
			}
		})
	}
}

// A blackout of the way back is first taken for one of the way out, and is not counted twice when it is over.
func TestProbeLossIsNeverTakenBack(t *testing.T) {
	var p probeState
	p.add(header{seq: 0}, echo{count: 1}, 0, true)
	p.read(0, 100)
	if r := p.read(probeTimeout, 100); r.Out.Lost != 99 {
		t.Fatalf("%d", r.Out.Lost)
	}
	p.add(header{seq: 150}, echo{count: 151}, 0, true)
	r := p.read(probeTimeout+1, 200)
	if r.Out.Lost != 99 || r.Back.Lost != 149 || r.Out.Packets != 151 {
		t.Errorf("out %d/%d, back %d/%d", r.Out.Lost, r.Out.Packets, r.Back.Lost, r.Back.Packets)
	}
}

func TestProbeJitterNeedsNoCommonClock(t *testing.T) {
	var p probeState
	const offset = 1 << 50
	for i := range int64(3) {
		p.add(header{seq: uint64(i), sent: i * 1000}, echo{count: uint64(i + 1), received: offset + i*1000 + i%2*160, sent: offset + i*1000 + 300},
			i*1000+400, true)
	}
	r := p.read(1, 3)
	if v := r.Out.JitterNs.Or(-1); v != 10+(160-10)/16. {
		t.Errorf("out %v", v)
	}
	if v := r.Back.JitterNs.Or(-1); v != 0 {
		t.Errorf("back %v", v)
	}
	if r.Out.Jitter.N() != 2 || p.read(2, 3).Out.Jitter.N() != 0 {
		t.Errorf("the histogram is not of one interval")
	}
}

// An echo without a kernel stamp was read at some time: it says that it arrived, and how it fared on the way out.
func TestProbeDoesNotBelieveItsOwnClock(t *testing.T) {
	var p probeState
	for i := range uint64(3) {
		p.add(header{seq: i, sent: 100}, echo{count: i + 1, received: 150, sent: 170}, 0, false)
	}
	r := p.read(1, 3)
	if !r.Echoed || !r.User || r.Out.Lost+r.Back.Lost > 0 || r.Back.Packets != 3 || r.Out.JitterNs.IsZero() {
		t.Errorf("%+v", r)
	}
	if !r.RttMs.IsZero() || !r.Back.JitterNs.IsZero() {
		t.Errorf("rtt %v, jitter back %v", r.RttMs, r.Back.JitterNs)
	}
}

// probePair is the two ends of a probe on the loopback, not started.
func probePair(t testing.TB, perSecond int) (*Probe, *Reflector) {
	t.Helper()
	a, b := udpPair(t)
	r, err := NewReflector(b, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewProbe(a, 1, 2, perSecond)
	if err != nil {
		t.Fatal(err)
	}
	return p, r
}

func TestProbeClosesWhateverItsState(t *testing.T) {
	for name, start := range map[string]bool{"idle": false, "running": true} {
		t.Run(name, func(t *testing.T) {
			p, r := probePair(t, 1)
			if start {
				r.Start()
				p.Start()
			}
			for range 2 {
				if err := p.Close(); err != nil {
					t.Error(err)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			}
			p.Start()
			r.Start()
			if got := p.Read(Mono()); got.Echoed {
				t.Errorf("%+v", got)
			}
			if p.SetRate(10) == nil {
				t.Error("a closed probe took a rate")
			}
		})
	}
}

// A slow beat does not keep the next rate waiting.
func TestProbeTakesANewRateAtOnce(t *testing.T) {
	p, r := probePair(t, 1)
	defer r.Close()
	defer p.Close()
	r.Start()
	p.Start()
	if err := p.SetRate(1000); err != nil {
		t.Fatal(err)
	}
	var last *ProbeReading
	wait(t, "200 echoes", func() bool { last = p.Read(Mono()); return last.Back.Packets > 200 })
	if last.Out.Lost+last.Back.Lost > last.Back.Packets/2 || last.User {
		t.Errorf("%+v", last)
	}
}

// round is one datagram there and back on the calling goroutine.
func round(p *Probe, r *Reflector, fd int) {
	p.turn()
	for r.seen.distinct < p.sent {
		r.serve(uintptr(fd))
	}
}

func TestProbeDoesNotAllocate(t *testing.T) {
	p, r := probePair(t, 1)
	defer r.Close()
	defer p.Close()
	err := r.raw.Control(func(fd uintptr) {
		if n := testing.AllocsPerRun(200, func() { round(p, r, int(fd)) }); n != 0 {
			t.Errorf("%v allocations a datagram", n)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.beat.set(1); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(50, func() { p.beat.wait() }); n != 0 {
		t.Errorf("%v allocations a beat", n)
	}
}

func BenchmarkProbe(b *testing.B) {
	p, r := probePair(b, 1)
	defer r.Close()
	defer p.Close()
	b.ReportAllocs()
	err := r.raw.Control(func(fd uintptr) {
		for b.Loop() {
			round(p, r, int(fd))
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}
