package iperf2

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Headers as iperf 2.1.8 sent them.
const (
	seenUDP        = "48010098 00000001 00001767 00000000 00000000 ffffff9c 00000000 00000000 00000000 00020001 00080003 00000000 000186a0 00000000 00000000"
	seenUDPReverse = "6c010098 00000001 00001767 00000000 00000000 ffffff9c 00000000 00000000 04000000 00020001 00080003 00000000 2a05f200 00000001 00000000"
	seenUDPFull    = "6c010098 00000001 00001767 00000000 00000000 ffffff9c 00000000 00000000 08080000 00020001 00080003 00000000 000186a0 00000000 00000000"
	seenUDPAmount  = "6c010098 00000001 00001767 000001f4 00000000 00002710 00000000 00000000 04000000 00020001 00080003 00000000 00100000 00000000 00000000"
	tcpPlain       = "40010078 00000001 00001389 00000000 00000000 ffffff9c 00000000 00000000 00000000 00020001 00080003 00000000 00000000 00000000 00000000"
	tcpReverse     = "44010078 00000001 00001389 00000000 00000000 80000000 00000000 00000000 04000000 00020001 00080003 00000000 00000000 00000000 00000000"
	tcpFull        = "44010078 00000001 00001389 00020000 00000000 00100000 00000000 00000000 08000000 00020001 00080003 00000000 00000000 00000100 00000000"
	tcpLegacy      = "c0010079 00000001 00001389 00000000 00000000 fffffc18 00000000 00000000 00000000 00020001 00080003 00000000 00000000 00000000 00000000"
	tcpVersion1    = "80000001 00000001 00001389 00000000 00000000 fffffc18"
	tcp213         = "40000000 00000001 00001389 00000000 00000000 fffffc18 00000001 00000024 00000400 00020000 000d0000 00000000 00000000 00000000 00000000"
)

func TestParseHeader(t *testing.T) {
	for _, c := range []struct {
		name, bytes string
		udp         bool
		want        header
	}{
		{"udp", seenUDP, true, header{flags: 0x48010098, time: time.Second, rate: 100_000, modern: true}},
		{"udp -R", seenUDPReverse, true, header{flags: 0x6c010098, time: time.Second, upper: upperReverse, rate: 5_000_000_000, modern: true}},
		{"udp --full-duplex", seenUDPFull, true, header{flags: 0x6c010098, time: time.Second, upper: upperFullDuplex | 8, rate: 100_000, modern: true}},
		{"udp -R -n -l", seenUDPAmount, true, header{flags: 0x6c010098, size: 500, bytes: 10_000, upper: upperReverse, rate: 1 << 20, modern: true}},
		{"tcp", tcpPlain, false, header{flags: 0x40010078, time: time.Second, modern: true}},
		{"tcp -R for ever", tcpReverse, false, header{flags: 0x44010078, time: forever, upper: upperReverse, modern: true}},
		{"tcp --full-duplex", tcpFull, false, header{flags: 0x44010078, size: 128 << 10, bytes: 1 << 20, upper: upperFullDuplex, rate: 1 << 32, modern: true}},
		{"tcp -d", tcpLegacy, false, header{flags: 0xc0010079, time: 10 * time.Second, modern: true}},
		{"tcp -d of 2.0.5", tcpVersion1, false, header{flags: 0x80000001, time: 10 * time.Second}},
		{"2.0.13, where the words mean something else", tcp213, false, header{flags: 0x40000000, time: 10 * time.Second}},
		{"zeros", strings.Repeat("00", 64), false, header{}},
		{"2.0.13 without words", "08000000" + strings.Repeat("00", 124), false, header{}},
		{"digits of an old payload", hex.EncodeToString([]byte(strings.Repeat("0123456789", 10))), false, header{}},
		{"HTTP", hex.EncodeToString([]byte("GET / HTTP/1.1\r\nHost: example.com\r\nUser-Agent: nobody of importance at all\r\n\r\n")), false, header{}},
		{"half", tcpReverse[:80], false, header{}},
		{"two bytes", "4001", false, header{}},
	} {
		if got := parseHeader(unhex(t, c.bytes), c.udp); got != c.want {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, c.want)
		}
	}
}

func TestPutHeader(t *testing.T) {
	h := header{flags: flagVersion2, upper: upperReverse, time: forever, size: 1000, rate: 6_000_000_000}
	b := make([]byte, headerSize)
	h.put(b, false)
	if got := binary.BigEndian.Uint32(b); got != 0x44010078 {
		t.Errorf("flags %08x", got)
	}
	got := parseHeader(b, false)
	if got.mode() != metric.ModeIn || got.time != forever || got.rate != h.rate || got.size != h.size || !got.modern {
		t.Errorf("%+v", got)
	}
	h.flags |= flagWide | flagUDPTests
	h.put(b, true)
	if got := binary.BigEndian.Uint32(b); got != 0x6c010098 {
		t.Errorf("flags %08x", got)
	}
}

func TestRateInEitherPlace(t *testing.T) {
	for _, high := range []uint32{1, 1 << 8} {
		if got := parseRate(0x2a05f200, high); got != 5_000_000_000 {
			t.Errorf("upper half %#x: %d", high, got)
		}
	}
	if got := parseRate(0xffffffff, 0xff); got != metric.MaxRate {
		t.Errorf("%d", got)
	}
}

// words are 32-bit numbers as they are sent.
func words(w ...uint32) []byte {
	var b []byte
	for _, v := range w {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

func TestParseReport(t *testing.T) {
	ten := func(flags uint32) []byte { return words(flags, 0, 30870, 1, 200_000, 3, 2, 21, 0, 7) }
	modern := report{bytes: 30870, stop: 1200 * time.Millisecond, lost: 3, late: 2, datagrams: 21, jitterNs: metric.N(7000)}
	old := modern
	old.old = true
	high := modern
	high.lost, high.late, high.datagrams = 1<<32|3, 2<<32|2, 3<<32|21
	shaky := old
	shaky.jitterNs = metric.Num{}
	pad := func(n int, parts ...[]byte) []byte {
		b := bytes.Join(parts, nil)
		return append(b, make([]byte, max(0, n-len(b)))...)
	}
	for _, c := range []struct {
		name  string
		bytes []byte
		want  report
		ok    bool
	}{
		{"2.1.8", pad(128, make([]byte, 16), ten(0x88000000)), modern, true},
		{"2.1.8 that was told more", pad(128, make([]byte, 16), ten(0xc8000000)), modern, true},
		{"upper halves", pad(128, make([]byte, 16), ten(0x88000000), make([]byte, 60), words(1, 2, 3)), high, true},
		{"upper halves that nobody announced", pad(128, make([]byte, 16), ten(0xc0000000), make([]byte, 60), words(1, 2, 3)), modern, true},
		{"2.0.13, behind what it last received", pad(1470, words(0xffffffeb, 1, 2, 0xffffffff), ten(0x88000000)), old, true},
		{"2.0.5", pad(1470, words(0xffffffeb, 1, 2), ten(0x80000000)), old, true},
		{"2.0.10 with a word too many", pad(1470, words(0xffffffeb, 1, 2), words(0x80000000, 0, 30870, 1, 200_000, 3, 2, 21, 0, 7_000_000)), shaky, true},
		{"a header ack", pad(28, words(2, 28)), report{}, false},
		{"data", pad(1470, words(1, 1, 2, 0, 0x48010098)), report{}, false},
		{"cut", pad(0, make([]byte, 16), ten(0x88000000))[:55], report{}, false},
		{"nothing", nil, report{}, false},
		{"a time that is none", pad(128, make([]byte, 16), words(0x88000000, 0, 1, 1, 5_000_000, 0, 0, 1, 0, 0)), report{}, false},
	} {
		got, ok := parseReport(c.bytes)
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %v\n got %+v\nwant %+v", c.name, ok, got, c.want)
		}
	}
	for _, r := range []report{high, old} {
		b := make([]byte, reportSize)
		r.put(b)
		got, ok := parseReport(b)
		if !ok || got.lost != r.lost || got.datagrams != r.datagrams || got.jitterNs != r.jitterNs || got.stop != r.stop {
			t.Errorf("%+v came back as %+v", r, got)
		}
	}
}

func TestWire(t *testing.T) {
	for _, c := range []struct {
		name  string
		first int64
		wide  bool
		seq   uint64
	}{{"2.1", 1, true, 5}, {"2.0", 0, true, 5}, {"32 bits", 1, false, 5}, {"beyond 32 bits", 1, true, 1 << 33}} {
		b := bytes.Repeat([]byte{0xff}, 1470)
		w := newWire(c.first, c.wide)
		w.last = int64(c.seq)
		w.Put(b, &flow.Head{Seq: c.seq, Sent: 1_700_000_000_123_456_000})
		if !bytes.Equal(b[dataSize:quietSize], make([]byte, quietSize-dataSize)) {
			t.Errorf("%s: a server finds words in %x", c.name, b[:quietSize])
		}
		var h flow.Head
		if !w.Get(b, &h) || h.Seq != c.seq || h.Sent != 1_700_000_000_123_456_000 || !h.First {
			t.Errorf("%s: %+v", c.name, h)
		}
		fin := make([]byte, quietSize)
		for again := range int64(3) { // 2.1 counts on
			putHead(fin, -(int64(c.seq) + 1 + c.first + again), 0)
			if w.Get(fin, &h) {
				t.Errorf("%s: the last is taken for data", c.name)
			}
		}
		<-w.over
		if w.sent() != c.seq+1 {
			t.Errorf("%s: %d were sent", c.name, w.sent())
		}
	}
	w := newWire(1, true)
	var h flow.Head
	d := make([]byte, 1470)
	if n := testing.AllocsPerRun(100, func() { w.Put(d, &h); w.Get(d, &h) }); n != 0 {
		t.Errorf("%v allocations a datagram", n)
	}
	far := make([]byte, 64)
	putHead(far, 1<<40, 0)
	if w.Get(far, &h) || w.Get(far[:11], &h) || w.Get(nil, &h) {
		t.Error("a number from nowhere is taken")
	}
}

func TestFirstDatagram(t *testing.T) {
	data := func(id int64, flags uint32, n int) []byte {
		b := make([]byte, max(n, dataSize))
		putHead(b, id, 0)
		binary.BigEndian.PutUint32(b[headSize:], flags)
		return b[:n]
	}
	for _, c := range []struct {
		name    string
		bytes   []byte
		ok, old bool
		first   int64
	}{
		{"2.1", append(data(1, 0, 16), unhex(t, seenUDP)...), true, false, 1},
		{"2.0.13", data(0, flagWide, 1470), true, false, 0},
		{"2.0.5", data(0, 0, 1470), true, true, 0},
		{"small", data(3, 0, 16), true, true, 1},
		{"the last of another", data(-7, flagWide, 1470), false, false, 0},
		{"a number from nowhere", data(1<<40, flagWide, 1470), false, false, 0},
		{"ours", append([]byte("ETN1"), bytes.Repeat([]byte{0xee}, 60)...), false, false, 0},
		{"short", []byte("hello"), false, false, 0},
	} {
		w, _, old, ok := firstDatagram(c.bytes)
		if ok != c.ok || old != c.old || ok && w.first != c.first {
			t.Errorf("%s: %v, old %v, %+v", c.name, ok, old, w)
		}
	}
}

func FuzzParseHeader(f *testing.F) {
	for _, s := range []string{seenUDP, seenUDPReverse, tcpReverse, tcpLegacy, tcp213} {
		f.Add(unhex(f, s), true)
		f.Add(unhex(f, s), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, udp bool) {
		h := parseHeader(b, udp)
		if h.size < 0 || h.size > metric.MaxTCPSize || h.rate < 0 || h.rate > metric.MaxRate || h.time < 0 || h.time > forever {
			t.Errorf("%+v", h)
		}
	})
}

func FuzzParseReport(f *testing.F) {
	f.Add(append(make([]byte, 16), words(0x88000000, 0, 30870, 1, 200_000, 3, 2, 21, 0, 7)...))
	f.Add(append(make([]byte, 12), words(0x80000000, 0, 30870, 1, 200_000, 3, 2, 21, 0, 7)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, ok := parseReport(b); ok && (r.lost > r.datagrams || r.stop < 0) {
			t.Errorf("%+v", r)
		}
	})
}

func FuzzDatagrams(f *testing.F) {
	f.Add(append(make([]byte, 16), unhex(f, seenUDP)...), []byte{0xff, 0xff, 0xff, 0xeb})
	f.Fuzz(func(t *testing.T, first, next []byte) {
		w, _, _, ok := firstDatagram(first)
		if !ok {
			return
		}
		var h flow.Head
		for _, b := range [][]byte{first, next} {
			if w.Get(b, &h) && h.Seq > lateFirst+maxLeap {
				t.Errorf("%+v", h)
			}
		}
		if w.sent() > lateFirst+2*maxLeap {
			t.Errorf("%d were sent", w.sent())
		}
	})
}

func FuzzDestination(f *testing.F) {
	f.Add(make([]byte, 64))
	f.Fuzz(func(_ *testing.T, b []byte) { destination(b) })
}

func BenchmarkWire(b *testing.B) {
	w := newWire(1, true)
	d := make([]byte, 1470)
	var h flow.Head
	b.ReportAllocs()
	for b.Loop() {
		w.Put(d, &h)
		w.Get(d, &h)
	}
}
