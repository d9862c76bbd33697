package metric

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

func TestNumAbsentIsNotZero(t *testing.T) {
	b, err := json.Marshal(&Frame{T: 1, Dir: Out, RxBps: N(0)})
	if err != nil {
		t.Fatal(err)
	}
	if s := string(b); !strings.Contains(s, `"rx_bps":0`) || strings.Contains(s, "tx_bps") {
		t.Errorf("a measured 0 must be written and an absent number must not: %s", s)
	}
	var f Frame
	if err := json.Unmarshal([]byte(`{"tx_bps":null,"rx_bps":0}`), &f); err != nil {
		t.Fatal(err)
	}
	if !f.TxBps.IsZero() || f.RxBps.IsZero() {
		t.Errorf("read %v %v", f.TxBps, f.RxBps)
	}
	if !N(math.NaN()).IsZero() || !N(math.Inf(1)).IsZero() {
		t.Error("NaN and infinity are no measurements")
	}
	if got := N(1).Add(Num{}); got != N(1) {
		t.Errorf("1 + absent = %v", got)
	}
}

func TestSpecValidate(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*Spec)
		want string // part of the error; empty = none
	}{
		{"default", func(*Spec) {}, ""},
		{"no streams", func(s *Spec) { s.Streams = 0 }, "streams 0"},
		{"negative rate", func(s *Spec) { s.RateBps = -5 }, "rate -5"},
		{"udp too long", func(s *Spec) { s.Proto, s.Size = UDP, 70000 }, "size 70000"},
		{"udp longest", func(s *Spec) { s.Proto, s.Size = UDP, MaxUDPSize }, ""},
		{"tcp one byte", func(s *Spec) { s.Size = 1 }, ""},
		{"udp shorter than its header", func(s *Spec) { s.Proto, s.Size = UDP, 8 }, "size 8"},
		{"buffer", func(s *Spec) { s.Far.RcvBuf = 5 }, "far:rcvbuf"},
		{"congestion", func(s *Spec) { s.Near.Congestion = strings.Repeat("x", 16) }, "15 characters"},
		{"protocol", func(s *Spec) { s.Proto = "sctp" }, "tcp or udp"},
		{"mode", func(s *Spec) { s.Mode = "up" }, "out, in or both"},
		{"probe", func(s *Spec) { s.Probe = -1 }, "probe -1"},
	} {
		s := DefaultSpec()
		c.do(&s)
		err := s.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestHistQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var h Hist
	var all []int64
	for range 20000 {
		ns := int64(math.Exp(rng.Float64()*18)) + rng.Int64N(50)
		h.Add(ns)
		all = append(all, ns)
	}
	slices.Sort(all)
	for _, q := range []float64{0, 0.1, 0.5, 0.9, 0.99, 1} {
		got, ok := h.Quantile(q)
		want := all[min(int(q*float64(len(all))), len(all)-1)]
		if !ok || math.Abs(float64(got-want)) > 0.07*float64(want)+1 {
			t.Errorf("quantile %v = %d, want %d", q, got, want)
		}
	}
	if top, _ := h.Max(); top != all[len(all)-1] {
		t.Errorf("max %d", top)
	}
	if _, ok := new(Hist).Quantile(0.5); ok {
		t.Error("an empty histogram has no median")
	}
}

func TestHistMergeIsExact(t *testing.T) {
	var a, b, both Hist
	for i := int64(0); i < 1<<41; i = i*5/4 + 1 {
		a.Add(i)
		b.Add(2 * i)
		both.Add(i)
		both.Add(2 * i)
	}
	a.Merge(&b)
	if a != both {
		t.Error("merged differs from counted together")
	}
	j, err := json.Marshal(&a)
	if err != nil {
		t.Fatal(err)
	}
	var back Hist
	if err := json.Unmarshal(j, &back); err != nil || back != a {
		t.Errorf("JSON round trip: %v", err)
	}
}

func TestHistAddDoesNotAllocate(t *testing.T) {
	var h Hist
	if n := testing.AllocsPerRun(100, func() { h.Add(12345) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestMerger(t *testing.T) {
	var m Merger
	if m.Take() != nil {
		t.Error("an empty Merger has a Frame")
	}
	h := &Hist{}
	h.Add(4000)
	m.Add(&Frame{T: 1, Span: 1, Dir: Out, RxBps: N(10), Lost: N(1), Packets: N(100), JitterMs: N(1), Jitter: h, Retransmits: N(2)})
	m.Add(&Frame{T: 2, Span: 1, Dir: Out}) // nothing was measured: a gap, not zeros
	m.Add(&Frame{T: 4, Span: 2, Dir: Out, RxBps: N(40), Lost: N(0), Packets: N(100), LostAt: &LostAt{Socket: N(3)}})
	f := m.Take()
	if f.T != 4 || f.Span != 4 || f.RxBps != N(30) || f.Lost != N(1) || f.LossPct != N(0.5) || f.Retransmits != N(2) {
		t.Errorf("%+v", f)
	}
	if !f.TxBps.IsZero() || !f.RttMs.IsZero() || f.LostAt.Socket != N(3) || !f.LostAt.Path.IsZero() {
		t.Errorf("absence was lost: %+v", f)
	}
	if f.JitterP50Ms != N(0.004) {
		t.Errorf("p50 %v", f.JitterP50Ms)
	}
	if m.Take() != nil {
		t.Error("Take must empty the Merger")
	}
}

// A rate that is of its own time weighs as that; what is told after the fact changes nothing but what arrived.
func TestMergerFoldsWhatIsToldLate(t *testing.T) {
	var m Merger
	m.AddLate(&Frame{Dir: Out, Lost: N(1), Packets: N(1)}) // of an interval that is not there
	m.Add(&Frame{T: 1, Span: 1, Dir: Out, TxBps: N(10), RxBps: N(8), RxSpan: N(0.9), Lost: N(1), Packets: N(90)})
	m.AddLate(&Frame{T: 1.2, Span: 0.1, Dir: Out, TxBps: N(1), RxBps: N(18), RxSpan: N(0.1), Lost: N(0), Packets: N(10), JitterMs: N(2)})
	f := m.Take()
	if f.T != 1 || f.Span != 1 || f.TxBps != N(10) || f.RxBps != N(9) || f.RxSpan != N(1) || f.Packets != N(100) || f.LossPct != N(1) || f.JitterMs != N(2) {
		t.Errorf("%+v", f)
	}
}

func TestRecordRoundTrip(t *testing.T) {
	var buf []byte
	for _, r := range []Record{
		&Frame{T: 1.5, Span: 0.1, Dir: In, RxBps: N(1e9)},
		&Mark{N: 1, Knob: "feature.rx-gro", Side: "near", From: "on", Asked: "off", Got: "off", Outcome: "applied",
			Also: []Also{{"feature.rx-lro", "on", "off"}}},
		&Note{T: 2, Text: "4 streams opened"},
	} {
		var err error
		if buf, err = AppendRecord(buf, r); err != nil {
			t.Fatal(err)
		}
	}
	l := NewLineReader(bytes.NewReader(buf))
	for _, want := range []string{"interval", "mark", "note"} {
		typ, line, err := l.Next()
		if err != nil || typ != want {
			t.Fatalf("%s %v, want %s", typ, err, want)
		}
		r, err := Parse(typ, line)
		if err != nil || r.RecordType() != want {
			t.Errorf("%v %v", r, err)
		}
	}
	if _, _, err := l.Next(); err != io.EOF {
		t.Errorf("end: %v", err)
	}
}

func TestLineReaderBounds(t *testing.T) {
	l := NewLineReader(strings.NewReader("motd\n{}\n" + `{"type":"beat"}` + "\n" + strings.Repeat("x", MaxLine+1)))
	for range 2 {
		if _, _, err := l.Next(); !errors.Is(err, ErrLine) {
			t.Errorf("noise: %v", err)
		}
	}
	if typ, _, err := l.Next(); typ != "beat" || err != nil {
		t.Errorf("%q %v", typ, err)
	}
	if _, line, err := l.Next(); !errors.Is(err, ErrLine) || line != nil {
		t.Errorf("too long: %v", err)
	}
}

func TestFeedLosesFramesNeverMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFeed()
		slow, fast := f.Reader("slow", 3), f.Reader("fast", 100)
		for i := range 10 {
			f.Put(&Frame{T: float64(i)})
			if i == 2 {
				f.Put(&Mark{N: 1})
				f.Put(&Guest{Event: "in"})
				f.Put(&Guest{Event: "here"})
			}
		}
		f.Close()
		var got []float64
		marks, guests := 0, ""
		for {
			r, err := slow.Next(t.Context())
			if err != nil {
				if err != io.EOF {
					t.Error(err)
				}
				break
			}
			switch r := r.(type) {
			case *Frame:
				got = append(got, r.T)
			case *Mark:
				marks++
			case *Guest:
				guests += r.Event
			}
		}
		if !slices.Equal(got, []float64{7, 8, 9}) || marks != 1 || guests != "in" || slow.Dropped() != 8 {
			t.Errorf("slow reader got %v, %d marks, guests %q, %d dropped", got, marks, guests, slow.Dropped())
		}
		if fast.Dropped() != 0 {
			t.Error("a slow reader cost the fast one")
		}
		if _, err := f.Reader("late", 1).Next(t.Context()); err != io.EOF {
			t.Errorf("reader of a closed feed: %v", err)
		}
	})
}

func TestFeedNextWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFeed()
		r := f.Reader("r", 1)
		got := make(chan Record)
		go func() { rec, _ := r.Next(t.Context()); got <- rec }()
		synctest.Wait()
		f.Put(&Note{Text: "x"})
		if n := (<-got).(*Note); n.Text != "x" {
			t.Error(n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { synctest.Wait(); cancel() }()
		if _, err := r.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		r.Close()
		if _, err := r.Next(t.Context()); err != io.EOF {
			t.Error(err)
		}
	})
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"type":"interval","t":1,"jitter_hist":{"max":3,"b":[1,2]},"lost":null}`))
	f.Add([]byte(`{"type":"mark","also":[{}]}`))
	f.Add([]byte("motd\n" + `{"type":"note"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l := NewLineReader(bytes.NewReader(b))
		for range 100 {
			typ, line, err := l.Next()
			if err != nil {
				if line == nil {
					return
				}
				continue
			}
			r, err := Parse(typ, line)
			if err != nil || r == nil {
				continue
			}
			if _, err := AppendRecord(nil, r); err != nil {
				t.Errorf("read %q and cannot write it: %v", line, err)
			}
		}
	})
}

// What the kernels say of TCP folds without inventing a number: means over the time, the least of the least round trips.
func TestMergerFoldsTCP(t *testing.T) {
	var m Merger
	m.Add(&Frame{Span: 1, CwndBytes: N(100), DeliveryBps: N(10), MinRttMs: N(0.5), TxCPUs: []int{0},
		Limited: &Limited{RwndPct: N(20), SndbufPct: N(0)}})
	m.Add(&Frame{Span: 3, CwndBytes: N(200), MinRttMs: N(0.7), Limited: &Limited{RwndPct: N(40), SndbufPct: N(0)}})
	m.Add(&Frame{Span: 1, TxCPUs: []int{1}})
	f := m.Take()
	if f.CwndBytes != N(175) || f.DeliveryBps != N(10) || f.MinRttMs != N(0.5) || len(f.TxCPUs) != 1 || f.TxCPUs[0] != 1 {
		t.Errorf("folded %+v", f)
	}
	if f.Limited == nil || *f.Limited != (Limited{N(35), N(0)}) {
		t.Errorf("limited %+v", f.Limited)
	}
	m.Add(&Frame{Span: 1})
	if f := m.Take(); f.Limited != nil || !f.CwndBytes.IsZero() || f.RxCPUs != nil {
		t.Errorf("nothing became %+v", f)
	}
}

// After a stall one Frame covers what none did before: the mean is bytes over seconds of the clock that counted them, not
// of the Frames.
func TestMeanRateIsBytesOverTheirSeconds(t *testing.T) {
	var m Merger
	for _, f := range []Frame{
		{Span: 0.1, RxBps: N(100e6), RxSpan: N(0.05)},
		{Span: 0.1},
		{Span: 0.1, RxBps: N(40e6), RxSpan: N(0.25)},
		{Span: 0.1, RxBps: N(50e6)}, // by who knows no other clock
	} {
		m.Add(&f)
	}
	f := m.Take()
	if bytes := f.RxBytes().Or(0); bytes != (100e6*0.05+40e6*0.25+50e6*0.1)/8 {
		t.Errorf("%v bytes", bytes)
	}
	if bps := f.RxBps.Or(0); math.Abs(bps-50e6) > 1 || math.Abs(f.RxSpan.Or(0)-0.4) > 1e-9 {
		t.Errorf("%v bit/s over %v s", bps, f.RxSpan)
	}
	if !f.TxBytes().IsZero() || !f.TxSpan.IsZero() {
		t.Errorf("what was sent was never said: %+v", f)
	}
}
