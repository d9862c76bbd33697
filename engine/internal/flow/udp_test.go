package flow

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// modes are the ways to send and to receive.
var modes = []struct {
	name     string
	from, to metric.Calls
	sent     sendMode
	received receiveMode
}{
	{"write and read", metric.Calls{Batch: 1}, metric.Calls{Batch: 1, GRO: metric.Off}, sendMode{1, 1}, receiveMode{1, false}},
	{"sendmmsg and recvmmsg", metric.Calls{GSO: 1}, metric.Calls{GRO: metric.Off}, sendMode{maxBatch, 1}, receiveMode{maxBatch, false}},
	{"trains", metric.Calls{GSO: 8}, metric.Calls{GRO: metric.On}, sendMode{autoTrains, 8}, receiveMode{receiveTrains, true}},
	{"trains to recvmmsg", metric.Calls{GSO: 8, Batch: 2}, metric.Calls{Batch: 4, GRO: metric.Off}, sendMode{2, 8}, receiveMode{4, false}},
	{"sendmmsg to UDP_GRO", metric.Calls{GSO: 1, Batch: 5}, metric.Calls{GRO: metric.On}, sendMode{5, 1}, receiveMode{receiveTrains, true}},
}

// ends are the two ends of a stream, ready to send and receive by hand.
func ends(t testing.TB, from, to metric.Calls) (*UDPSender, *UDPReceiver) {
	t.Helper()
	a, b := udpPair(t)
	c := load34(1400, 0)
	c.Calls = from
	tx := NewUDPSender(a, c)
	c = load34(1400, 0)
	c.Calls = to
	rx := NewUDPReceiver(b, c)
	t.Cleanup(func() { tx.Close(); rx.Close() })
	tx.adopt(tx.aim.now.Load(), 0)
	rx.adopt(rx.aim.now.Load())
	return tx, rx
}

// exchange sends one call full of datagrams from seq on and receives them all.
func exchange(t testing.TB, tx *UDPSender, rx *UDPReceiver, seq uint64) int {
	n := tx.b.len() * tx.mode.gso
	tx.fill(seq, n)
	sent, err := tx.put(n)
	if err != nil {
		t.Fatal(err)
	}
	for late := Mono() + int64(patience); rx.tally.w.distinct < seq+uint64(sent); {
		k, err := rx.b.receive(rx.fd)
		if err != nil && !again(err) || Mono() > late {
			t.Fatalf("%d of %d came: %v", rx.tally.w.distinct-seq, sent, err)
		}
		rx.count(k)
	}
	return sent
}

// In every mode every datagram arrives as it left, and none of them allocates.
func TestModes(t *testing.T) {
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			tx, rx := ends(t, m.from, m.to)
			if tx.mode != m.sent || rx.mode != m.received {
				t.Fatalf("sends as %+v, receives as %+v", tx.mode, rx.mode)
			}
			var seq uint64
			if n := testing.AllocsPerRun(200, func() { seq += uint64(exchange(t, tx, rx, seq)) }); n != 0 {
				t.Errorf("%v allocations a call", n)
			}
			var h metric.Hist
			got := rx.Rx(&h)
			if got.Packets != seq || got.Bytes != seq*1400 || got.Lost() != 0 || got.User || h.N() == 0 || got.Lag.N() == 0 {
				t.Errorf("of %d: %+v", seq, got)
			}
			if calls := seq / uint64(tx.b.len()*tx.mode.gso); h.N() >= calls {
				t.Errorf("%d jitters of %d calls", h.N(), calls)
			}
			if tx := tx.Tx(); tx.Batch != m.sent.batch || tx.GSO != m.sent.gso || got.GRO != m.received.gro || got.Batch != m.received.batch {
				t.Errorf("told %+v and %+v", tx, got)
			}
		})
	}
}

func TestScheduleDoesNotAllocate(t *testing.T) {
	var s schedule
	var seq uint64
	s.rebase(0, 0, 1e9, 1472)
	if n := testing.AllocsPerRun(200, func() { seq += s.due(Mono(), seq); await(Mono(), Mono()+1000, 500) }); n != 0 {
		t.Errorf("%v allocations a schedule", n)
	}
}

func TestPlanSend(t *testing.T) {
	for name, c := range map[string]struct {
		rate  int64
		size  int
		calls metric.Calls
		want  sendMode
	}{
		"unlimited":             {0, 1448, metric.Calls{}, sendMode{autoTrains, autoTrain}},
		"modest":                {1e9, 1448, metric.Calls{}, sendMode{64, 1}},
		"fast":                  {2e9, 1448, metric.Calls{}, sendMode{autoTrains, 17}},
		"faster":                {20e9, 1448, metric.Calls{}, sendMode{autoTrains, autoTrain}},
		"many small":            {100e6, 64, metric.Calls{}, sendMode{autoTrains, 19}},
		"no more than a packet": {0, 8972, metric.Calls{}, sendMode{autoTrains, 7}},
		"slow train":            {1e6, 1448, metric.Calls{GSO: 8}, sendMode{autoTrains, 8}},
		"as asked":              {0, 1448, metric.Calls{Batch: 4, GSO: 16}, sendMode{4, 16}},
		"batch rules out":       {0, 1448, metric.Calls{Batch: 1}, sendMode{1, 1}},
		"no train":              {0, 1448, metric.Calls{GSO: 1}, sendMode{64, 1}},
		"one to a train":        {0, 65507, metric.Calls{}, sendMode{16, 1}},
		"no more than a call":   {0, 1448, metric.Calls{Batch: 64, GSO: 64}, sendMode{16, 45}},
		"no more than segments": {0, 32, metric.Calls{GSO: 64}, sendMode{autoTrains, 64}},
	} {
		if got := planSend(&goal{rate: c.rate, calls: c.calls}, c.size); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestPlanReceive(t *testing.T) {
	for name, c := range map[string]struct {
		rate  int64
		calls metric.Calls
		want  receiveMode
	}{
		"unlimited": {0, metric.Calls{}, receiveMode{receiveTrains, true}},
		"modest":    {1e9, metric.Calls{}, receiveMode{64, false}},
		"fast":      {2e9, metric.Calls{}, receiveMode{receiveTrains, true}},
		"off":       {0, metric.Calls{GRO: metric.Off}, receiveMode{64, false}},
		"on":        {1e6, metric.Calls{GRO: metric.On, Batch: 1}, receiveMode{1, true}},
	} {
		if got := planReceive(&goal{rate: c.rate, calls: c.calls}, 1448); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestSpinFor(t *testing.T) {
	for name, c := range map[string]struct {
		rate       int64
		calls      metric.Calls
		processors int
		want       int64
	}{
		"slow":                 {100e6, metric.Calls{}, 2, spinLead},
		"at the bound":         {200e6, metric.Calls{}, 2, spinLead},
		"fast":                 {400e6, metric.Calls{}, 2, 0},
		"fast and precise":     {400e6, metric.Calls{Precise: true}, 2, spinLead},
		"one processor":        {100e6, metric.Calls{Precise: true}, 1, 0},
		"placed on one":        {100e6, metric.Calls{Affinity: "1"}, 2, 0},
		"placed on two":        {100e6, metric.Calls{Affinity: "0-1"}, 2, spinLead},
		"placed, asked for it": {100e6, metric.Calls{Affinity: "1", Precise: true}, 2, spinLead},
	} {
		if got := spinFor(&goal{rate: c.rate, calls: c.calls}, 1448, c.processors); got != c.want {
			t.Errorf("%s: %d ns", name, got)
		}
	}
}

// A stream goes from mode to mode at both ends while it runs: nothing is lost on the way that its datagrams do not fit,
// and the far end sees which setting they are of.
func TestModesChangeLive(t *testing.T) {
	a, b := udpPair(t)
	tx, rx := NewUDPSender(a, load34(1400, 300e6)), NewUDPReceiver(b, load34(1400, 300e6))
	rx.Start()
	tx.Start()
	for i, m := range append(modes, modes...) {
		if err := rx.Aim(300e6, m.to); err != nil {
			t.Fatal(err)
		}
		if err := tx.Aim(300e6, m.from); err != nil {
			t.Fatal(err)
		}
		wait(t, m.name, func() bool {
			sent, got := tx.Tx(), rx.Rx(nil)
			return got.Epoch == uint32(i+1) && sent.Epoch == got.Epoch && sent.GSO == m.sent.gso && got.GRO == m.received.gro
		})
	}
	if err := tx.Close(); err != nil {
		t.Fatal(err)
	}
	sent := tx.Tx()
	got, err := rx.Finish(sent.Packets)
	if err != nil || got.Lost() > got.Drops || got.Reordered+got.Duplicates > 0 || sent.NoGSO {
		t.Errorf("%+v of %+v: %v", got, sent, err)
	}
}

// Where the kernel refuses trains the stream goes on without, says so, and loses nothing by it.
func TestTrainsRefused(t *testing.T) {
	a, b := udpPair(t)
	if err := unix.SetsockoptInt(a, unix.SOL_SOCKET, unix.SO_NO_CHECK, 1); err != nil { // UDP_SEGMENT needs checksums
		t.Fatal(err)
	}
	c := load34(1400, 1e9)
	c.Calls.GSO = 8
	tx, rx := NewUDPSender(a, c), NewUDPReceiver(b, load34(1400, 1e9))
	rx.Start()
	tx.Start()
	plain(t, tx, rx, "received")
}

// plain waits until datagrams arrive that were not sent in trains although that was wanted, and ends the stream.
func plain(t *testing.T, tx *UDPSender, rx *UDPReceiver, what string) {
	t.Helper()
	from := rx.Rx(nil).Packets
	wait(t, what, func() bool { return tx.Tx().NoGSO && rx.Rx(nil).Packets > from+1000 })
	if got := tx.Tx(); got.GSO != 1 || got.Refused != 0 {
		t.Errorf("%+v", got)
	}
	if err := tx.Err(); err != nil {
		t.Error(err)
	}
	if err := tx.Close(); err != nil {
		t.Error(err)
	}
	if err := rx.Close(); err != nil {
		t.Error(err)
	}
}

// When the MTU is lowered under a stream in trains, it goes on in fragments.
func TestTrainsAboveTheMTU(t *testing.T) {
	v := newVeth(t)
	near, far := v.sockets(t)
	c := Config{Wire: NewNative(3, 4), Size: benchSize, Rate: 100e6, Calls: metric.Calls{GSO: 8}}
	tx := NewUDPSender(near, c)
	c.Wire = NewNative(3, 4)
	rx := NewUDPReceiver(far, c)
	rx.Start()
	tx.Start()
	wait(t, "received", func() bool { return rx.Rx(nil).Packets > 100 && tx.Tx().GSO == 8 })
	v.in(t, v.near, func() { ip(t, "link set etn0 mtu 1300") })
	plain(t, tx, rx, "received in fragments")
}

// Of a train whose stamp is the first datagram's only that one is timed, whatever the others say of themselves.
func TestOneStampATrain(t *testing.T) {
	_, rx := ends(t, metric.Calls{}, metric.Calls{GRO: metric.On})
	w := NewNative(3, 4)
	msg := make([]byte, 3*1400+100)
	for i := range 4 {
		w.Put(msg[i*1400:], &Head{Seq: uint64(i), Sent: int64(i), First: true, Epoch: 7})
	}
	for range 2 { // the second time they are copies
		rx.cut(msg, control{at: 1000, stamped: true, segment: 1400}, 0)
	}
	got := rx.Rx(nil)
	if got.Packets != 4 || got.Bytes != uint64(len(msg)) || got.Duplicates != 4 || rx.tally.t.n != 1 || got.Epoch != 7 {
		t.Errorf("%+v, %d timed", got, rx.tally.t.n)
	}
}

func TestEndOfStream(t *testing.T) {
	_, rx := ends(t, metric.Calls{}, metric.Calls{})
	w := NewNative(3, 4)
	d := make([]byte, 100)
	put := func(h Head) {
		w.Put(d, &h)
		rx.cut(d, control{}, 0)
	}
	put(Head{Seq: 0})
	if rx.Rx(nil).Ended {
		t.Error("ended at once")
	}
	for range 3 {
		put(Head{Seq: 1, End: true})
	}
	if got := rx.Rx(nil); !got.Ended || got.Packets != 2 || got.Duplicates != 0 {
		t.Errorf("%+v", got)
	}
}

// However the kernel hands over what comes from a network, it is counted or dropped.
func FuzzCut(f *testing.F) {
	f.Add(make([]byte, 3000), 1448)
	rx := NewUDPReceiver(-1, load34(1448, 0))
	f.Fuzz(func(t *testing.T, msg []byte, segment int) {
		before := rx.tally.rx.Bytes
		rx.cut(msg, control{segment: max(0, segment)}, 0)
		if rx.tally.rx.Bytes > before+uint64(len(msg)) {
			t.Error("more than came")
		}
	})
}

// A change of the rate neither makes up for the past nor waits for the old schedule.
func TestAimTakesEffectAtOnce(t *testing.T) {
	a, b := udpPair(t)
	defer unix.Close(b)
	tx := NewUDPSender(a, load34(1400, 1e5))
	defer tx.Close()
	tx.adopt(tx.aim.now.Load(), 0)
	if err := tx.Aim(1e9, metric.Calls{}); err != nil {
		t.Fatal(err)
	}
	tx.s.t0 -= 1e9 // as if nothing was sent for a second
	tx.adopt(tx.aim.now.Load(), 0)
	if n := tx.s.due(tx.s.t0, 0); n != 1 || tx.s.missed != 0 {
		t.Errorf("%d are due at once, %d are missed", n, tx.s.missed)
	}
	if tx.head.Epoch != 1 {
		t.Errorf("epoch %d", tx.head.Epoch)
	}
	if err := tx.Aim(1e9, metric.Calls{}); err != nil || tx.aim.now.Load().epoch != 1 {
		t.Error("a change that is none counts")
	}
}

// What streams use is told while they run; what they counted stays.
func TestLedgerTellsWhatRuns(t *testing.T) {
	a, b := udpPair(t)
	var l Ledger
	c := load34(1400, 100e6)
	c.Calls.GSO = 2
	l.AddSender(3, NewUDPSender(a, c))
	c.Wire, c.Calls.GRO = NewNative(3, 4), metric.On
	l.AddReceiver(3, NewUDPReceiver(b, c))
	l.Start()
	var h metric.Hist
	wait(t, "received", func() bool { return l.Read(nil).Rx.Packets > 100 })
	if r := l.Read(&h); r.Tx.GSO != 2 || r.Tx.Batch != autoTrains || !r.Rx.GRO || r.Rx.Lag.N() == 0 || h.N() == 0 {
		t.Errorf("%+v", r)
	}
	if err := l.Aim(100e6, metric.Calls{GSO: 1}); err != nil {
		t.Fatal(err)
	}
	wait(t, "changed at both ends", func() bool {
		r := l.Read(nil)
		return r.Tx.GSO == 1 && !r.Rx.GRO && r.Tx.Epoch == 1 && r.Rx.Epoch == 1 && r.Rx.Lag == nil
	})
	l.Close()
	if r := l.Read(&h); r.Tx.GSO != 0 || r.Rx.Batch != 0 || r.Rx.Epoch != 0 || r.Tx.Calls == 0 || r.Rx.Calls == 0 {
		t.Errorf("after the end: %+v", r)
	}
}

func TestDropsOfTrains(t *testing.T) {
	var d drops
	d.add(2, 100, 100)
	d.add(5, 540, 110) // trains of 44
	d.add(6, 540, 110)
	if want := uint64(2 + 3*44 + 44); d.sum != want {
		t.Errorf("%d, want %d", d.sum, want)
	}
	d.last = ^uint32(0)
	if d.add(0, 541, 111); d.sum != 2+4*44+1 {
		t.Errorf("over the wrap: %d", d.sum)
	}
}

func BenchmarkUDPBatch(b *testing.B) {
	for _, m := range modes {
		b.Run(m.name, func(b *testing.B) {
			tx, rx := ends(b, m.from, m.to)
			b.SetBytes(int64(tx.b.len() * tx.mode.gso * tx.size))
			b.ReportAllocs()
			var seq uint64
			for b.Loop() {
				seq += uint64(exchange(b, tx, rx, seq))
			}
		})
	}
}

// BenchmarkCount is what a received train costs beyond the system call.
func BenchmarkCount(b *testing.B) {
	_, rx := ends(b, metric.Calls{}, metric.Calls{GRO: metric.On})
	const n = 44
	b.SetBytes(n * 1400)
	b.ReportAllocs()
	w := NewNative(3, 4)
	msg := make([]byte, n*1400)
	var h Head
	for b.Loop() {
		for i := range n {
			h.First = i == 0
			w.Put(msg[i*1400:], &h)
			h.Seq++
		}
		rx.cut(msg, control{at: 1, stamped: true, segment: 1400}, 0)
	}
}
