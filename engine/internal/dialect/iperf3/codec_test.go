package iperf3

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

func TestParamsOnTheWire(t *testing.T) {
	for _, tc := range []struct {
		spec metric.Spec
		size int
		want string
	}{
		{load(func(*metric.Spec) {}), 131072,
			`{"tcp":true,"omit":0,"time":0,"num":0,"blockcount":0,"parallel":1,"len":131072,"pacing_timer":1000,"client_version":"3.12"}`},
		{load(func(s *metric.Spec) { s.Proto, s.Mode, s.Streams, s.RateBps = metric.UDP, metric.ModeIn, 2, 1e6 }), 1400,
			`{"udp":true,"omit":0,"time":0,"num":0,"blockcount":0,"parallel":2,"reverse":true,"len":1400,"bandwidth":1000000,"pacing_timer":1000,"udp_counters_64bit":1,"client_version":"3.12"}`},
		{load(func(s *metric.Spec) {
			s.Mode = metric.ModeBoth
			s.Far = metric.Socket{RcvBuf: 65536, Congestion: "bbr", MSS: 1000, NoDelay: true, TOS: 32}
		}), 1,
			`{"tcp":true,"omit":0,"time":0,"num":0,"blockcount":0,"MSS":1000,"nodelay":true,"parallel":1,"bidirectional":true,"window":65536,"len":1,"pacing_timer":1000,"TOS":32,"congestion":"bbr","client_version":"3.12"}`},
	} {
		b, err := json.Marshal(newParams(tc.spec, tc.size))
		if err != nil || string(b) != tc.want {
			t.Errorf("%v\n%s\n%s", err, b, tc.want)
		}
	}
}

func TestParams(t *testing.T) {
	for _, tc := range []struct {
		in   string
		code int // 0 = good
		want params
	}{
		{`{"tcp":true}`, 0, params{TCP: true, Time: 10, Parallel: 1, Len: 131072}},
		{`{}`, 0, params{Time: 10, Parallel: 1, Len: 131072}},
		{`{"udp":true,"reverse":false,"time":0,"len":1400,"unheard_of":{"a":[1]}}`, 0, params{UDP: true, Reverse: true, Parallel: 1, Len: 1400}},
		{`{"udp":true,"udp_counters_64bit":1,"bandwidth":1e+06,"len":1400.0}`, 0,
			params{UDP: true, Time: 10, Parallel: 1, Len: 1400, Counters64: 1, Bandwidth: 1e6}},
		{`{"tcp":true,"parallel":0}`, ieStreams, params{}},
		{`{"tcp":true,"parallel":129}`, ieStreams, params{}},
		{`{"tcp":true,"parallel":-1}`, ieStreams, params{}},
		{`{"tcp":true,"time":86401}`, ieDuration, params{}},
		{`{"tcp":true,"time":18446744073709551615}`, ieDuration, params{}},
		{`{"tcp":true,"omit":601}`, ieDuration, params{}},
		{`{"tcp":true,"len":1048577}`, ieBlockSize, params{}},
		{`{"udp":true,"len":65508}`, ieBlockSize, params{}},
		{`{"udp":true,"len":11}`, ieBlockSize, params{}},
		{`{"udp":true,"udp_counters_64bit":1,"len":15}`, ieBlockSize, params{}},
		{`{"tcp":true,"window":1e12}`, ieBufSize, params{}},
		{`{"tcp":true,"MSS":40000}`, ieMSS, params{}},
		{`{"tcp":true,"TOS":256}`, ieParams, params{}},
		{`{"tcp":true,"bandwidth":1e300}`, ieParams, params{}},
		{`{"sctp":true}`, ieUnimp, params{}},
		{`{"len":"many"}`, ieParams, params{}},
		{`[]`, ieParams, params{}},
		{`{"tcp":true`, ieParams, params{}},
	} {
		p, err := parseParams([]byte(tc.in))
		code := 0
		if err != nil {
			code = ieParams
		} else if err := p.check(); err != nil {
			code = errCode(err)
		}
		if code != tc.code || code == 0 && *p != tc.want {
			t.Errorf("%s: i_errno %d, %+v", tc.in, code, p)
		}
	}
}

// What versions are known to send, as it is on the wire.
func TestResultsOfEveryVersion(t *testing.T) {
	full := func(stream string) string {
		return `{"cpu_util_total":1.5,"cpu_util_user":0.5,"cpu_util_system":1,"sender_has_retransmits":-1,"streams":[` + stream + `]}`
	}
	for _, tc := range []struct {
		name, in string
		want     streamResult
	}{
		{"3.16", full(`{"id":1,"bytes":1400,"retransmits":-1,"jitter":0.000125,"errors":2,"omitted_errors":1,"packets":9,"omitted_packets":3,"start_time":0,"end_time":1.000104}`),
			streamResult{ID: 1, Bytes: 1400, Retransmits: -1, Jitter: 0.000125, Errors: 2, OmittedErrors: 1, Packets: 9, OmittedPackets: 3, EndTime: 1.000104}},
		{"3.12, minus one without its sign", full(`{"id":3,"bytes":0,"retransmits":18446744073709551615,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":2}`),
			streamResult{ID: 3, Retransmits: -1, EndTime: 2}},
		{"3.11, large numbers with an exponent", full(`{"id":1,"bytes":1.25e+15,"retransmits":1e+00,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":86400}`),
			streamResult{ID: 1, Bytes: 1.25e15, Retransmits: 1, EndTime: 86400}},
		{"3.1, floats and no times", full(`{"id":1.000000,"bytes":131072.000000,"retransmits":0.000000,"jitter":0.000031,"errors":0.000000,"packets":90.000000}`),
			streamResult{ID: 1, Bytes: 131072, Jitter: 0.000031, Packets: 90, EndTime: unknown}},
	} {
		r, err := parseResults([]byte(tc.in))
		if err != nil || len(r.StreamResults) != 1 || r.StreamResults[0] != tc.want || r.HasRetrans != -1 {
			t.Errorf("%s: %v %+v", tc.name, err, r)
		}
	}
	for name, in := range map[string]string{
		"no streams":       `{"cpu_util_total":1}`,
		"streams is one":   full("")[:len(full(""))-2] + `1]}`,
		"no id":            full(`{"bytes":1}`),
		"no bytes":         full(`{"id":1}`),
		"text":             full(`{"id":"1","bytes":1}`),
		"not a list":       `{"streams":{}}`,
		"too many":         full(strings.Repeat(`{"id":1,"bytes":1},`, 300) + `{"id":1,"bytes":1}`),
		"cut":              full(`{"id":1,"bytes":1}`)[:60],
		"nested for ever":  `{"streams":` + strings.Repeat("[", 20000),
		"negative counter": full(`{"id":1,"bytes":-5}`),
	} {
		if r, err := parseResults([]byte(in)); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if got := (streamResult{Packets: 10, Errors: 12}).received(); got != 0 {
		t.Errorf("received %d", got)
	}
}

// All that any version wants to read is there, also where it is nothing.
func TestResultsOnTheWire(t *testing.T) {
	b, err := json.Marshal(results{HasRetrans: unknown, StreamResults: resultList{{ID: 1, Retransmits: unknown}}})
	want := `{"cpu_util_total":0,"cpu_util_user":0,"cpu_util_system":0,"sender_has_retransmits":-1,"streams":[{"id":1,"bytes":0,` +
		`"retransmits":-1,"jitter":0,"errors":0,"omitted_errors":0,"packets":0,"omitted_packets":0,"start_time":0,"end_time":0}]}`
	if err != nil || string(b) != want {
		t.Errorf("%v\n%s\n%s", err, b, want)
	}
}

func TestFrame(t *testing.T) {
	for _, tc := range []struct {
		in, want string
		ok       bool
	}{
		{"\x00\x00\x00\x02{}", "{}", true},
		{"\x00\x00\x00\x02{}rest", "{}", true},
		{"\x00\x00\x00\x00", "", false},
		{"\x00\x00\x00\x0b0123456789a", "", false},
		{"\xfd\xff\xff\xff", "", false},
		{"\x00\x00\x00\x05{}", "", false},
		{"\x00\x00", "", false},
		{"", "", false},
	} {
		b, err := readFrame(strings.NewReader(tc.in), 10)
		if (err == nil) != tc.ok || tc.ok && string(b) != tc.want {
			t.Errorf("%q: %q %v", tc.in, b, err)
		}
	}
}

// A server's error is told wherever it comes, also in the place of the results' length.
func TestPeerError(t *testing.T) {
	said := "\xfe\x00\x00\x00\x8d\x00\x00\x00\x69"
	_, state := readState(strings.NewReader(said))
	_, frame := readFrame(strings.NewReader(said), 10)
	for _, err := range []error{state, frame} {
		var p *peerError
		if !errors.As(err, &p) || p.code != ieBuffer || p.errno != 105 || !strings.Contains(err.Error(), "socket buffer") {
			t.Errorf("%v", err)
		}
	}
	if _, err := readState(strings.NewReader("\xfe\x00")); err == nil || !strings.Contains(err.Error(), "reports an error") {
		t.Errorf("cut: %v", err)
	}
}

func TestDatagram(t *testing.T) {
	for _, size := range []int{header32, header64} {
		d := &datagram{size: size}
		b := make([]byte, 20)
		d.Put(b, &flow.Head{Seq: 6, Sent: 1700000000_123456789})
		want := append([]byte("\x65\x53\xf1\x00\x00\x01\xe2\x40"), map[int]string{header32: "\x00\x00\x00\x07", header64: "\x00\x00\x00\x00\x00\x00\x00\x07"}[size]...)
		if !bytes.Equal(b[:size], want) {
			t.Errorf("%d: % x", size, b)
		}
		var h flow.Head
		if !d.Get(b, &h) || h != (flow.Head{Seq: 6, Sent: 1700000000_123456000, First: true}) {
			t.Errorf("%d: %+v", size, h)
		}
		if d.Get(b[:size-1], &h) || d.Get([]byte(hello), &h) || d.Get(make([]byte, size), &h) {
			t.Errorf("%d: what is none is taken for a datagram", size)
		}
	}
}

// 32 bits wrap after an hour at a million datagrams a second.
func TestDatagramWraps(t *testing.T) {
	d := &datagram{size: header32}
	for _, tc := range []struct {
		low  uint32
		want uint64
	}{{1, 1}, {0x7fffffff, 0x7fffffff}, {0xfffffffe, 0xfffffffe}, {2, 1<<32 + 2}, {0xffffffff, 0xffffffff}, {3, 1<<32 + 3}} {
		if got := d.widen(tc.low); got != tc.want {
			t.Errorf("%#x: %#x, want %#x", tc.low, got, tc.want)
		}
	}
	if got := (&datagram{size: header32}).widen(0xffffffff); got != 0 {
		t.Errorf("before the first: %d", got)
	}
}

func TestReplies(t *testing.T) {
	for _, r := range []string{"6789", "9876", "\xb1\x68\xde\x3a", "\x3a\xde\x68\xb1"} {
		if !isReply([]byte(r)) {
			t.Errorf("%q is not taken for an answer", r)
		}
	}
	for _, r := range []string{"", "678", "67890", "\x15\xcd\x5b\x07"} {
		if isReply([]byte(r)) {
			t.Errorf("%q is taken for an answer", r)
		}
	}
}

func TestStreamIDs(t *testing.T) {
	if got := fmt.Sprint(streamID(0), streamID(1), streamID(2), streamID(3)); got != "1 3 4 5" {
		t.Error(got)
	}
}

func TestCookie(t *testing.T) {
	a, b := newCookie(), newCookie()
	if a == b || a[36] != 0 || strings.Trim(string(a[:36]), "abcdefghijklmnopqrstuvwxyz234567") != "" {
		t.Errorf("%q %q", a, b)
	}
}

func TestScript(t *testing.T) {
	frame := "\x00\x00\x00\x02{}"
	for _, tc := range []struct {
		s    script
		in   string
		want string // the words' kinds
	}{
		{serverHears, "\x04" + frame + "\x10", "state frame state"},
		{serverHears, "\x04" + frame, "state frame err"},
		{serverHears, "\x04\x0c", "state err"},
		{serverHears, "\x0c", "err"},
		{serverHears, "\x10", "err"},
		{serverHears, "\x04" + frame + "\x04" + frame, "state frame err"},
		{clientHears, "\x0d" + frame + "\x0e", "state frame state"},
		{clientHears, "\x0d\xfe\x00\x00\x00\x75\x00\x00\x00\x00", "state err"},
		{clientHears, "\x0b", "err"},
		{clientHears, "\xff", "err"},
		{clientHears, "\x63", "err"},
		{clientHears, "", "err"},
	} {
		words := make(chan word, maxWords)
		tc.s.hear(io.MultiReader(strings.NewReader(tc.in)), words)
		var kinds []string
		for w := range words {
			switch {
			case w.err != nil:
				kinds = append(kinds, "err")
			case w.frame != nil:
				kinds = append(kinds, "frame")
			default:
				kinds = append(kinds, "state")
			}
		}
		if got := strings.Join(kinds, " "); got != tc.want {
			t.Errorf("%q: %s, want %s", tc.in, got, tc.want)
		}
	}
}
