package iperf3

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/metric"
)

func background(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), late)
	t.Cleanup(cancel)
	return ctx
}

// free fails where the stock server does not serve the next client. For some milliseconds it is still busy with the end of
// the last one's test.
func free(t *testing.T, s *stockServer) {
	t.Helper()
	from := time.Now()
	eventually(t, "it serves the next client", func() bool {
		_, err := runStock(background(t), t, s.addr, "-n", "1M")
		return err == nil
	})
	if d := time.Since(from); d > 10*time.Second {
		t.Errorf("it serves the next client after %v", d)
	}
}

func TestDialLeavesServerFree(t *testing.T) {
	t.Parallel()
	s := startStock(t, "127.0.0.1")
	for range 3 {
		if err := dial(t, s.addr, Options{}).Close(); err != nil {
			t.Fatal(err)
		}
		free(t, s)
	}
}

// A Client that is dialled and left alone gives the server back.
func TestDialHoldsBriefly(t *testing.T) {
	t.Parallel()
	s := startStock(t, "127.0.0.1")
	c := dial(t, s.addr, Options{})
	free(t, s)
	drive(t, c, metric.DefaultSpec())
	flowFor(t, c, 1<<20)
}

// A server that serves one test and then ends, -1, is not used up by Dial.
func TestDialThenDriveIsOneTest(t *testing.T) {
	t.Parallel()
	s := startStock(t, "127.0.0.1", "-1")
	c := dial(t, s.addr, Options{Bind: netip.MustParseAddr("127.0.0.3")})
	drive(t, c, metric.DefaultSpec())
	flowFor(t, c, 1<<20)
	eventually(t, "the server sees the bound address", func() bool { return strings.Contains(s.out.String(), "127.0.0.3") })
}

func TestChainTellsEverySecond(t *testing.T) {
	t.Parallel()
	s := startStock(t, "127.0.0.1")
	c := dial(t, s.addr, Options{})
	drive(t, c, load(func(s *metric.Spec) { s.Proto, s.RateBps, s.Size = metric.UDP, 4e6, 1000 }))
	first, last := c.span(t, 4)
	if first.Mono != 1 || first.Load.Rx.Bytes != 0 {
		t.Errorf("the first stats are no baseline: %+v", first)
	}
	took := float64(last.Mono-first.Mono) / 1e9
	tx := c.Read(nil).Tx
	if took < 2.9 {
		t.Errorf("three segments took %v s", took)
	}
	// A busy machine does not send all that is due, and makes good for a moment.
	if bps := float64(last.Load.Rx.Bytes) * 8 / took; bps < 3e6-float64(tx.Missed)*8000/took || bps > 5e6 {
		t.Errorf("%.0f bit/s of 4 M arrived, sent was %+v", bps, tx)
	}
	rx := last.Load.Rx
	if rx.Lost()*2 > rx.Expected || rx.JitterNs.IsZero() || rx.JitterNs.Or(0) > 1e8 {
		t.Errorf("far %+v", rx)
	}
	// The near end's counters run on over the gaps.
	if tx.Packets < rx.Expected {
		t.Errorf("sent %d of %d", tx.Packets, rx.Expected)
	}
}

func TestRateInPlace(t *testing.T) {
	t.Parallel()
	for _, proto := range []metric.Proto{metric.TCP, metric.UDP} {
		s := startStock(t, "127.0.0.1")
		c := dial(t, s.addr, Options{Segment: time.Hour})
		spec := load(func(s *metric.Spec) { s.Proto, s.RateBps = proto, 1e6 })
		if proto == metric.UDP {
			spec.Size = 1000
		}
		drive(t, c, spec)
		flowFor(t, c, 20_000)
		spec.RateBps = 40e6
		drive(t, c, spec)
		from := time.Now()
		flowFor(t, c, 2_000_000)
		if d := time.Since(from); d > 8*time.Second {
			t.Errorf("%s: 16 Mbit took %v at 40 Mbit/s, as if it were still 1", proto, d)
		}
		if err := c.Pause(background(t)); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the server logs the test", func() bool { return strings.Contains(s.out.String(), "(test #2)") })
		if n := strings.Count(s.out.String(), "Accepted"); n != 1 {
			t.Errorf("%s: the server ran %d tests for one rate change", proto, n)
		}
	}
}

// Whatever is turned, the load becomes it, and no counter goes back.
func TestEveryChange(t *testing.T) {
	t.Parallel()
	s := startStock(t, "127.0.0.1")
	c := dial(t, s.addr, Options{})
	spec := load(func(s *metric.Spec) { s.RateBps = 50e6 })
	last := c.Read(nil)
	for i, change := range []func(){
		func() {},
		func() { spec.Mode = metric.ModeIn },
		func() { spec.RateBps = 20e6 },
		func() { spec.Mode, spec.Streams = metric.ModeBoth, 3 },
		func() { spec.Size = 4096 },
		func() { spec.Near.SndBuf, spec.Far.RcvBuf = 60_000, 60_000 },
		func() { spec.Proto, spec.Size, spec.Streams, spec.RateBps = metric.UDP, 1000, 1, 4e6 },
		func() { spec.Size = 500 },
		func() { spec.Mode = metric.ModeIn },
		func() { spec.Proto, spec.Mode, spec.Size, spec.RateBps = metric.TCP, metric.ModeOut, 0, 0 },
	} {
		change()
		drive(t, c, spec)
		st := c.State()
		if st.Spec != spec || !st.Wanted || st.Out != (spec.Mode != metric.ModeIn) || st.In != (spec.Mode != metric.ModeOut) {
			t.Errorf("change %d: state %+v", i, st)
		}
		flowFor(t, c, 100_000)
		if spec.Size > 0 && c.Granted().Size != spec.Size {
			t.Errorf("change %d: size %d", i, c.Granted().Size)
		}
		now := c.Read(nil)
		if now.Tx.Bytes < last.Tx.Bytes || now.Rx.Bytes < last.Rx.Bytes || now.Tx.Packets < last.Tx.Packets {
			t.Errorf("change %d: from %+v to %+v", i, last, now)
		}
		last = now
	}
	if err := c.Pause(background(t)); err != nil {
		t.Fatal(err)
	}
	if st := c.State(); st.Wanted || st.Out || st.In {
		t.Errorf("paused: %+v", st)
	}
	free(t, s)
	drive(t, c, spec)
	flowFor(t, c, 1<<20)
	if err := c.Close(); err != nil || c.Err() != nil {
		t.Errorf("%v, %v", err, c.Err())
	}
	free(t, s)
	if err := c.Drive(background(t), spec, false); err == nil {
		t.Error("a closed session can be driven")
	}
}

// What the server cannot grant is said, and the old load goes on.
func TestRefusedChangeKeepsLoad(t *testing.T) {
	t.Parallel()
	s := startStock(t, "127.0.0.1")
	c := dial(t, s.addr, Options{})
	spec := metric.DefaultSpec()
	drive(t, c, spec)
	flowFor(t, c, 1<<20)
	wide := spec
	wide.Far.RcvBuf = 400 << 20
	err := c.Drive(background(t), wide, false)
	if err == nil || !strings.Contains(err.Error(), "buffer") && !strings.Contains(err.Error(), "-w") {
		t.Errorf("%v", err)
	}
	if c.State().Spec != spec {
		t.Errorf("state %+v", c.State())
	}
	flowFor(t, c, 1<<20)
}

func TestBusyServer(t *testing.T) {
	t.Parallel()
	s := startStock(t, "127.0.0.1")
	other := dial(t, s.addr, Options{})
	drive(t, other, metric.DefaultSpec())
	_, err := Dial(background(t), s.addr, Options{}, dialect.Hooks{})
	if !errors.Is(err, errDenied) || !strings.Contains(err.Error(), "busy with another test") {
		t.Errorf("%v", err)
	}
	flowFor(t, other, 1<<20)
}

// A server that is stopped, and one that dies, end the session with a reason.
func TestServerGone(t *testing.T) {
	t.Parallel()
	for _, proto := range []metric.Proto{metric.TCP, metric.UDP} {
		s := startStock(t, "127.0.0.1")
		c := dial(t, s.addr, Options{})
		drive(t, c, load(func(s *metric.Spec) { s.Proto, s.RateBps, s.Size, s.Mode = proto, 4e6, 1000, metric.ModeBoth }))
		flowFor(t, c, 50_000)
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		select {
		case <-c.Done():
		case <-background(t).Done():
			t.Fatal("it does not notice")
		}
		if c.Err() == nil || c.State().Out {
			t.Errorf("err %v, state %+v", c.Err(), c.State())
		}
		if c.Drive(background(t), metric.DefaultSpec(), false) == nil {
			t.Error("it can still be driven")
		}
		c.Halt()
	}
}

func TestCannot(t *testing.T) {
	if err := can(load(func(s *metric.Spec) { s.Far.SndBuf, s.Far.RcvBuf = 4096, 8192 })); !errors.Is(err, dialect.ErrCannot) {
		t.Errorf("%v", err)
	}
	if err := can(metric.DefaultSpec()); err != nil {
		t.Errorf("the default with its probe is refused: %v", err)
	}
}
