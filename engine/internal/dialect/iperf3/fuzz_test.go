package iperf3

import (
	"bytes"
	"encoding/json"
	"net"
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

func FuzzParams(f *testing.F) {
	f.Add([]byte(`{"tcp":true}`))
	f.Add([]byte(`{"udp":true,"len":1e3,"bandwidth":18446744073709551615,"reverse":false}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := parseParams(b)
		if err != nil || p.check() != nil {
			return
		}
		if n := len(p.dirs()); n < 1 || n > 2*metric.MaxStreams || p.Len.integer() < 1 || p.Len.integer() > metric.MaxTCPSize {
			t.Errorf("%d streams of %v bytes pass", n, p.Len)
		}
		if p.rate(0) < 0 || p.rate(0) > metric.MaxRate {
			t.Errorf("a rate of %d passes", p.rate(0))
		}
		if omit, limit := p.duration(); omit < 0 || limit < 0 {
			t.Errorf("omit %v, limit %v", omit, limit)
		}
	})
}

func FuzzResults(f *testing.F) {
	f.Add([]byte(`{"sender_has_retransmits":-1,"streams":[{"id":1,"bytes":2,"packets":18446744073709551615,"errors":1e300}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := parseResults(b)
		if err != nil {
			return
		}
		if len(r.StreamResults) > 2*metric.MaxStreams {
			t.Errorf("%d streams", len(r.StreamResults))
		}
		var sums far
		streams := []*stream{{id: 1, rx: nil, tx: &flow.UDPSender{}}, {id: 3}}
		sums.begin()
		sums.add(&test{spec: metric.Spec{Proto: metric.UDP, Mode: metric.ModeBoth}, streams: streams, ns: 1}, r, map[int]flow.Tx{1: {Packets: 5}})
		if rx := sums.sum.Rx; rx.Packets > rx.Expected {
			t.Errorf("more arrived than was sent: %+v", rx)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}

func FuzzDatagram(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x04"), uint64(1<<33))
	f.Fuzz(func(t *testing.T, b []byte, last uint64) {
		var h flow.Head
		for _, d := range []*datagram{{size: header64}, {size: header32, last: last >> 1}} {
			if d.Get(b, &h) && d.size == header64 {
				out := make([]byte, header64)
				h2 := h
				if d.Put(out, &h2); !bytes.Equal(out[8:], b[8:16]) {
					t.Errorf("% x comes back as % x", b[:16], out)
				}
			}
		}
	})
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x02{}"))
	f.Add([]byte("\xfe\x00\x00\x00\x8d\x00\x00\x00\x69"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if body, err := readFrame(bytes.NewReader(b), maxParams); err == nil && (len(body) == 0 || len(body) > maxParams) {
			t.Errorf("a frame of %d bytes", len(body))
		}
		_, _ = readState(bytes.NewReader(b))
		for _, s := range []script{clientHears, serverHears} {
			words := make(chan word, maxWords)
			s.hear(bytes.NewReader(b), words) // hangs where it says more than there is room for
		}
	})
}

// FuzzServer sends anything to a server, as a new client and behind good parameters.
func FuzzServer(f *testing.F) {
	house := &dialect.House{}
	s, err := Listen("127.0.0.1:0", house)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	good := "\x00\x00\x00\x0c{\"tcp\":true}"
	for _, seed := range []string{"", good, good + "\x04", good + "\x04\x00\x00\x00\x02{}\x10", "\xff\xff\xff\xff", good + "\x0c"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ck := newCookie()
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := c.Write(append(ck[:], b...)); err != nil {
			return
		}
		_ = c.(*net.TCPConn).CloseWrite()
		answer := make([]byte, 1<<10)
		for {
			if _, err := c.Read(answer); err != nil {
				if ne, ok := err.(net.Error); ok && ne.Timeout() {
					t.Errorf("the server does not let go of %q", b)
				}
				return
			}
		}
	})
}
