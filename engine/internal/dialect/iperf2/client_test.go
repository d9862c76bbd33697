package iperf2

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/metric"
)

func TestClientReaims(t *testing.T) {
	s, g := serve(t, "127.0.0.1", metric.Rules{})
	c, h := dial(t, s.Addr(), metric.TCP, Options{})
	for _, change := range []func(*metric.Spec){
		func(s *metric.Spec) { s.Streams, s.RateBps = 2, 10_000_000 },
		func(s *metric.Spec) { s.Streams, s.RateBps = 2, 30_000_000 },
		func(s *metric.Spec) { s.Streams, s.RateBps = 3, 30_000_000 },
		func(s *metric.Spec) { s.Streams, s.RateBps = 1, 30_000_000 },
		func(s *metric.Spec) { s.Streams, s.RateBps, s.Size = 1, 30_000_000, 1000 },
		func(s *metric.Spec) { s.Streams, s.RateBps, s.Mode = 1, 30_000_000, metric.ModeIn },
		func(s *metric.Spec) { s.Streams, s.RateBps, s.Mode = 2, 30_000_000, metric.ModeBoth },
	} {
		spec := drive(t, c, metric.ModeOut, change)
		from := c.Read(nil)
		await(t, "traffic", func() bool {
			r := c.Read(nil)
			return (spec.Mode == metric.ModeIn || r.Tx.Bytes > from.Tx.Bytes+100_000) &&
				(spec.Mode == metric.ModeOut || r.Rx.Bytes > from.Rx.Bytes+100_000)
		})
		st := c.State()
		if st.Spec != spec || !st.Wanted || st.Out != (spec.Mode != metric.ModeIn) || st.In != (spec.Mode != metric.ModeOut) {
			t.Errorf("%+v", st)
		}
	}
	want := []string{"2 streams opened", "1 stream opened", "2 streams closed", "streams reopened: tcp out", "streams reopened: tcp in",
		"streams reopened: tcp both"}
	if !slices.Equal(h.notes, want) {
		t.Errorf("notes %q", h.notes)
	}
	c.Pause(t.Context())
	r := c.Read(nil)
	await(t, "end of the guests", func() bool { return len(g.left()) == 7 })
	var rx uint64
	for _, m := range g.left() {
		rx += m.RxBytes
	}
	if !near(float64(rx), float64(r.Tx.Bytes), 0.01) {
		t.Errorf("%d bytes arrived, %d were sent", rx, r.Tx.Bytes)
	}
	if st := c.State(); st.Wanted || st.Out || st.In || c.Err() != nil {
		t.Errorf("after a pause: %+v, %v", st, c.Err())
	}
	drive(t, c, metric.ModeOut, nil) // and on
}

func TestClientChainsSegments(t *testing.T) {
	s, g := serve(t, "127.0.0.1", metric.Rules{})
	c, _ := dial(t, s.Addr(), metric.UDP, Options{Segment: minSegment})
	drive(t, c, metric.ModeOut, func(s *metric.Spec) { s.Streams, s.RateBps = 2, 10_000_000 })
	var all []*dialect.Stats
	await(t, "three reports", func() bool { all = append(all, c.Far()...); return len(all) >= 4 })
	drive(t, c, metric.ModeOut, func(s *metric.Spec) { s.Streams, s.RateBps, s.Size = 1, 10_000_000, 300 })
	await(t, "two more", func() bool { all = append(all, c.Far()...); return len(all) >= 6 })
	c.Pause(t.Context())
	all = append(all, c.Far()...)
	for i, st := range all[1:] {
		was := all[i]
		if st.Mono <= was.Mono || st.Load.Rx.Bytes < was.Load.Rx.Bytes || st.Load.Rx.Expected < was.Load.Rx.Expected || st.Load.Rx.JitterNs.IsZero() {
			t.Errorf("%d: %+v after %+v", i, st, was)
		}
	}
	await(t, "end of the guests", func() bool { return len(s.house.Guests()) == 0 })
	var packets, lost float64
	for _, m := range g.left() {
		packets += m.Packets.Or(0)
		lost += m.Lost.Or(0)
	}
	last := all[len(all)-1].Load.Rx
	if tx := c.Read(nil).Tx; last.Expected != tx.Packets || float64(last.Expected) != packets || float64(last.Lost()) != lost {
		t.Errorf("reported %+v, sent %+v, there %v of %v lost", last, tx, lost, packets)
	}
}

func TestClientCannot(t *testing.T) {
	for _, c := range []struct {
		proto  metric.Proto
		change func(*metric.Spec)
		says   string
	}{
		{metric.TCP, func(s *metric.Spec) { s.Proto = metric.UDP }, "iperf -s -u"},
		{metric.UDP, func(s *metric.Spec) { s.Proto = metric.TCP }, "found to speak udp"},
		{metric.UDP, func(s *metric.Spec) { s.Mode = metric.ModeBoth }, "not both"},
		{metric.UDP, func(s *metric.Spec) { s.Mode, s.Size = metric.ModeIn, 1471 }, "1470"},
		{metric.TCP, func(s *metric.Spec) { s.Far.RcvBuf = 4096 }, "server's sockets"},
		{metric.TCP, func(s *metric.Spec) { s.FarCalls.Batch = 2 }, "server's sockets"},
	} {
		client, _ := dial(t, "127.0.0.1:9", c.proto, Options{})
		spec := metric.DefaultSpec()
		spec.Proto = c.proto
		c.change(&spec)
		err := client.Drive(t.Context(), spec, false)
		if !errors.Is(err, dialect.ErrCannot) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", spec, err)
		}
	}
	client, _ := dial(t, "127.0.0.1:9", metric.UDP, Options{})
	if f := client.Granted().Fixed; f["probe"] == "" || f["far.sndbuf"] == "" || f["far_calls"] == "" || f["mode.both"] == "" {
		t.Errorf("%v", f)
	}
}

func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	spec := metric.DefaultSpec()
	c, _ := dial(t, addr, metric.TCP, Options{})
	if err := c.Drive(t.Context(), spec, false); !errors.Is(err, unix.ECONNREFUSED) || !strings.Contains(err.Error(), addr) {
		t.Errorf("%v", err)
	}
	spec.Proto, spec.RateBps = metric.UDP, 10_000_000
	c, _ = dial(t, addr, metric.UDP, Options{Segment: minSegment})
	if err := c.Drive(t.Context(), spec, false); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Done():
	case <-time.After(patience):
	}
	if err := c.Err(); !errors.Is(err, errNobody) {
		t.Errorf("%v", err)
	}
	c, _ = dial(t, addr, metric.UDP, Options{})
	if err := c.Drive(t.Context(), spec, false); err != nil {
		t.Fatal(err)
	}
	await(t, "datagram", func() bool { return c.Read(nil).Tx.Packets > 0 })
	if err := c.Pause(t.Context()); !errors.Is(err, errNobody) || !errors.Is(err, dialect.ErrPeer) {
		t.Errorf("%v", err)
	}
	if err := c.Pause(t.Context()); err != nil {
		t.Errorf("once more: %v", err)
	}
	spec.Mode = metric.ModeIn
	c, _ = dial(t, addr, metric.UDP, Options{})
	if err := c.Drive(t.Context(), spec, false); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("%v", err)
	}
}

// A server of 2.0 takes what is asked for as payload.
func TestOldServerDoesNotSend(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, _ := dial(t, l.Addr().String(), metric.TCP, Options{})
	spec := metric.DefaultSpec()
	spec.Mode = metric.ModeIn
	if err := c.Drive(t.Context(), spec, false); err == nil || !strings.Contains(err.Error(), "2.1") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := c.Drive(ctx, spec, false); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestServerGoes(t *testing.T) {
	for _, mode := range []metric.Mode{metric.ModeOut, metric.ModeIn, metric.ModeBoth} {
		s, _ := serve(t, "127.0.0.1", metric.Rules{})
		c, _ := dial(t, s.Addr(), metric.TCP, Options{})
		drive(t, c, mode, func(s *metric.Spec) { s.Streams, s.RateBps = 2, 10_000_000 })
		s.Close()
		select {
		case <-c.Done():
		case <-time.After(patience):
		}
		if c.Err() == nil {
			t.Errorf("%s: the server is gone and nobody knows", mode)
		}
		c.Halt()
		if err := c.Close(); err != nil || c.Err() != nil {
			t.Errorf("%v, then %v", err, c.Err())
		}
	}
}

func TestClientIsBound(t *testing.T) {
	s, _ := serve(t, "127.0.0.1", metric.Rules{})
	for _, proto := range []metric.Proto{metric.TCP, metric.UDP} {
		c, _ := dial(t, s.Addr(), proto, Options{Bind: netip.MustParseAddr("127.0.0.9")})
		drive(t, c, metric.ModeOut, func(s *metric.Spec) { s.RateBps = 1_000_000 })
		await(t, "guest from there", func() bool {
			return slices.ContainsFunc(s.house.Guests(), func(g metric.Guest) bool {
				return g.Proto == proto && strings.HasPrefix(g.Peer, "127.0.0.9:")
			})
		})
		c.Close()
	}
	_, err := Dial(t.Context(), s.Addr(), metric.TCP, Options{Bind: netip.MustParseAddr("::1")}, dialect.Hooks{})
	if err == nil || !strings.Contains(err.Error(), "family") {
		t.Errorf("%v", err)
	}
}
