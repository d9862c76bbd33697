package iperf3

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/metric"
)

// scriptedServer accepts connections one after the other and gives each to f.
func scriptedServer(t *testing.T, f func(c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f(c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

// readCookie takes in the client's cookie.
func readCookie(c net.Conn) { _, _ = io.ReadFull(c, make([]byte, cookieSize)) }

// What is no iperf3 server is said to be none, in time.
func TestDialOtherServers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		serve func(c net.Conn)
		want  string
	}{
		"ssh":    {func(c net.Conn) { _, _ = c.Write([]byte("SSH-2.0-x\r\n")); readCookie(c) }, "does not answer as an iperf3 server"},
		"silent": {func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }, "no answer"},
		"closes": {func(c net.Conn) { readCookie(c) }, "EOF"},
		"denies": {func(c net.Conn) { _, _ = c.Write([]byte{0xff}); readCookie(c) }, "busy"},
		"errs":   {func(c net.Conn) { readCookie(c); _, _ = c.Write([]byte("\xfe\x00\x00\x00\x8e\x00\x00\x00\x00")) }, "user name"},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), late)
		timeout := late
		if name == "silent" {
			timeout = time.Second
		}
		c, err := Dial(ctx, scriptedServer(t, tc.serve), Options{Timeout: timeout}, dialect.Hooks{})
		cancel()
		if err == nil {
			_ = c.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Servers that break off at any state, or answer nonsense, leave an error and nothing else behind.
func TestBadServers(t *testing.T) {
	t.Parallel()
	step := func(say string, params bool) func(net.Conn) {
		return func(c net.Conn) {
			_ = c.SetDeadline(time.Now().Add(late))
			b := make([]byte, cookieSize)
			_, _ = io.ReadFull(c, b)
			_, _ = c.Write([]byte("\x09"))
			if params {
				_, _ = readFrame(c, maxParams)
			}
			_, _ = c.Write([]byte(say))
		}
	}
	for name, serve := range map[string]func(net.Conn){
		"leaves before the parameters": step("", false),
		"leaves after the parameters":  step("", true),
		"is full":                      step("\xff", true),
		"was stopped":                  step("\x0b", true),
		"refuses":                      step("\xfe\x00\x00\x00\x14\x00\x00\x00\x00", true),
		"is in another state":          step("\x0e", true),
		"leaves before the streams":    step("\x0a", true),
	} {
		c, err := Dial(background(t), scriptedServer(t, serve), Options{Timeout: late}, dialect.Hooks{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := c.Drive(background(t), metric.DefaultSpec(), false); err == nil {
			t.Errorf("%s: it drives", name)
		}
		if st := c.State(); st.Out || st.In || c.Granted().Size != 0 {
			t.Errorf("%s: %+v", name, st)
		}
		if err := c.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A server of 3.1 is driven as any other: its UDP answer is an older one, its numbers are floats, and it knows no times.
func TestOldServer(t *testing.T) {
	t.Parallel()
	asked := make(chan *params, 1)
	addr := scriptedServer(t, func(c net.Conn) {
		_ = c.SetDeadline(time.Now().Add(late))
		readCookie(c)
		_, _ = c.Write([]byte("\x09"))
		frame, err := readFrame(c, maxParams)
		if err != nil {
			return
		}
		p, err := parseParams(frame)
		if err != nil {
			return
		}
		udp, err := net.ListenPacket("udp", c.LocalAddr().String())
		if err != nil {
			return
		}
		defer udp.Close()
		_, _ = c.Write([]byte("\x0a"))
		b := make([]byte, 2000)
		_, from, err := udp.ReadFrom(b)
		if err != nil {
			return
		}
		_, _ = udp.WriteTo([]byte("\xb1\x68\xde\x3a"), from)
		_, _ = c.Write([]byte("\x01\x02"))
		_, _ = io.ReadFull(c, b[:1])
		_, _ = c.Write([]byte("\x0d"))
		if _, err := readFrame(c, maxClientResults); err != nil {
			return
		}
		_, _ = c.Write([]byte(framed(`{"cpu_util_total":1.000000,"cpu_util_user":1.000000,"cpu_util_system":0.000000,` +
			`"sender_has_retransmits":-1.000000,"streams":[{"id":1.000000,"bytes":5000.000000,"retransmits":-1.000000,` +
			`"jitter":0.000250,"errors":1.000000,"packets":6.000000}]}`)))
		_, _ = c.Write([]byte("\x0e"))
		_, _ = io.ReadFull(c, b[:1])
		asked <- p
	})
	c := dial(t, addr, Options{Segment: time.Hour})
	drive(t, c, load(func(s *metric.Spec) { s.Proto, s.Size, s.RateBps = metric.UDP, 1000, 1e6 }))
	flowFor(t, c, 10_000)
	if err := c.Pause(context.Background()); err != nil {
		t.Fatal(err)
	}
	if p := <-asked; !p.UDP || p.Len != 1000 || p.Counters64 != 1 || p.Time != 0 || p.Reverse {
		t.Errorf("asked for %+v", p)
	}
	_, last := c.span(t, 2)
	rx, sent := last.Load.Rx, c.Read(nil).Tx.Packets
	if rx.Bytes != 5000 || rx.Packets != 5 || rx.Expected != sent || rx.JitterNs.Or(0) != 250_000 {
		t.Errorf("%+v of %d sent", rx, sent)
	}
}
