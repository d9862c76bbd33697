package native

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/metric"
)

func TestPreambleRoundTrip(t *testing.T) {
	in := preamble{token: token{1, 2, 15: 3}, id: 0x01020304}
	b := in.bytes()
	if len(b) != preambleSize || b[0] == '{' {
		t.Errorf("%x", b)
	}
	if out, ok := parsePreamble(b); !ok || out != in {
		t.Errorf("%+v %v", out, ok)
	}
}

func FuzzPreamble(f *testing.F) {
	f.Add(preamble{id: 7}.bytes())
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := parsePreamble(b); ok && !bytes.Equal(p.bytes(), b) {
			t.Fatalf("%x became %x", b, p.bytes())
		}
	})
}

// Stats with a full histogram fit a line.
func TestStatsFit(t *testing.T) {
	st := &dialect.Stats{Mono: 1 << 62, Jitter: &metric.Hist{}}
	for i := range int64(1 << 20) {
		st.Jitter.Add(i * 4096)
	}
	b, err := (&line{Type: typeStats, Stats: st}).encode()
	if err != nil {
		t.Fatal(err)
	}
	l, err := decode(b)
	if err != nil || l.Stats.Jitter.N() != st.Jitter.N() {
		t.Errorf("%v", err)
	}
}

func FuzzLine(f *testing.F) {
	for _, l := range []*line{
		{Type: typeHello, Proto: dialectName, V: Version, Token: strings.Repeat("ab", tokenSize)},
		{Type: typeOpen, N: 1, Stream: &StreamSpec{ID: 1, Proto: metric.UDP, Dir: metric.In, Size: 1472}},
		{Type: typeStats, Stats: &dialect.Stats{Mono: 5, Jitter: &metric.Hist{}}},
		{Type: typeClose, Close: []closing{{ID: 3, Sent: 9}}},
	} {
		b, err := l.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"type":"open","stream":{"size":-1,"proto":"udp"}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := decode(b)
		if err != nil {
			return
		}
		_ = l.checkHello()
		_, _ = l.token()
		if l.Stream.validate() == nil && l.Stream.Proto != protoProbe && (l.Stream.Size < 0 || l.Stream.Size > metric.MaxTCPSize) {
			t.Fatalf("size %d passes", l.Stream.Size)
		}
		if _, err := json.Marshal(l); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCheckHello(t *testing.T) {
	for name, c := range map[string]struct {
		l    line
		want string
	}{
		"ours":      {line{Type: typeHello, Proto: dialectName, V: Version}, ""},
		"newer":     {line{Type: typeHello, Proto: dialectName, V: Version + 1}, "use the same ethtune on both ends"},
		"other":     {line{Type: typeHello, Proto: "iperf9", V: Version}, "does not speak"},
		"not hello": {line{Type: typeBeat}, "does not speak"},
	} {
		err := c.l.checkHello()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
