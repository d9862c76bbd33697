package engine

import (
	"context"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
)

// need skips the test where ok is false, or fails it where the environment demands that everything runs.
func need(t testing.TB, ok bool, reason string) {
	t.Helper()
	if ok {
		return
	}
	if os.Getenv("ETHTUNE_REQUIRE") == "all" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// serveNative is a Server of the native dialect alone.
func serveNative(addr string) (*Server, error) {
	return Listen(metric.Serve{Native: addr}, metric.NewFeed())
}

// rigged is an Engine against a Server, and a reader of its feed.
type rigged struct {
	*Engine
	t    testing.TB
	read *metric.Reader
	ctx  context.Context
}

// patience is how long a test waits for what a busy machine may make late and only a fault keeps away.
const patience = time.Minute

// dial connects to addr and cleans up behind the test.
func dial(t testing.TB, addr string) *rigged {
	t.Helper()
	return dialOver(t, addr, "")
}

// dialOver does so over the interface dev.
func dialOver(t testing.TB, addr, dev string) *rigged {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	t.Cleanup(cancel)
	feed := metric.NewFeed()
	r := &rigged{t: t, read: feed.Reader("test", 1000), ctx: ctx}
	e, err := Dial(ctx, addr, Options{Device: dev}, feed)
	if err != nil {
		t.Fatal(err)
	}
	r.Engine = e
	t.Cleanup(func() { e.Close() })
	return r
}

func (r *rigged) drive(change func(*metric.Spec)) metric.Granted {
	r.t.Helper()
	spec := r.Spec()
	if spec.Proto == "" {
		spec = metric.DefaultSpec()
	}
	change(&spec)
	g, err := r.Drive(r.ctx, spec)
	if err != nil {
		r.t.Fatalf("drive %+v: %v", spec, err)
	}
	return g
}

// until reads the feed until a Frame is as wanted.
func (r *rigged) until(what string, ok func(*metric.Frame) bool) *metric.Frame {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	var last *metric.Frame
	for {
		rec, err := r.read.Next(ctx)
		if err != nil {
			r.t.Fatalf("no frame with %s: %v; the last was %+v", what, err, last)
		}
		if f, is := rec.(*metric.Frame); is {
			if last = f; ok(f) {
				return f
			}
		}
	}
}

// untilNote reads the feed until a note contains text.
func (r *rigged) untilNote(text string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	for {
		rec, err := r.read.Next(ctx)
		if err != nil {
			r.t.Fatalf("no note %q: %v", text, err)
		}
		if n, is := rec.(*metric.Note); is && strings.Contains(n.Text, text) {
			return
		}
	}
}

// settles waits until count is at most limit.
func settles(t testing.TB, what string, limit int, count func() int) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	n := count()
	for late := time.Now().Add(patience); time.Now().Before(late); n = count() {
		if n <= limit {
			return
		}
		<-tick.C
	}
	t.Errorf("%d %s, there were %d before", n, what, limit)
}

func descriptors() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(d)
}

func flows(f *metric.Frame) bool {
	return f.TxBps.Or(0) > 1e6 && f.RxBps.Or(0) > 1e6
}

func near(n metric.Num, want float64) bool {
	v, ok := n.Get()
	return ok && v > want*0.8 && v < want*1.2
}

// tour drives every kind of change against addr.
func tour(t *testing.T, addr string) {
	r := dial(t, addr)
	if g := r.drive(func(*metric.Spec) {}); g.Size != 128<<10 || g.Near.Congestion == "" || g.Far.Congestion == "" {
		t.Errorf("granted %+v", g)
	}
	f := r.until("tcp out with probe", func(f *metric.Frame) bool {
		return flows(f) && f.RttFrom == metric.FromProbe && f.JitterFrom == metric.FromProbe
	})
	if f.Dir != metric.Out || f.Retransmits.IsZero() || f.LossFrom != metric.FromProbe || f.SelfCPU.IsZero() {
		t.Errorf("frame %+v", f)
	}
	r.drive(func(s *metric.Spec) { s.Mode = metric.ModeBoth })
	r.until("tcp in", func(f *metric.Frame) bool { return f.Dir == metric.In && flows(f) })
	r.until("tcp out", func(f *metric.Frame) bool { return f.Dir == metric.Out && flows(f) })
	r.drive(func(s *metric.Spec) { s.Mode = metric.ModeIn; s.Streams = 2 })
	r.until("two streams in", func(f *metric.Frame) bool { return f.Dir == metric.In && flows(f) })

	r.drive(func(s *metric.Spec) { s.Proto, s.Mode, s.Streams, s.RateBps = metric.UDP, metric.ModeOut, 1, 100e6 })
	r.untilNote("streams reopened: udp out")
	udp := func(want float64) func(*metric.Frame) bool {
		return func(f *metric.Frame) bool {
			return near(f.TxBps, want) && near(f.RxBps, want) && f.LossFrom == metric.FromLoad && f.JitterFrom == metric.FromLoad
		}
	}
	if f := r.until("udp at 100M", udp(100e6)); f.LostAt == nil || f.JitterClock != "" {
		t.Errorf("frame %+v", f)
	}
	r.drive(func(s *metric.Spec) { s.RateBps = 20e6 })
	r.until("udp at 20M", udp(20e6))
	r.drive(func(s *metric.Spec) { s.Streams = 3 })
	r.until("three streams", udp(60e6))
	r.drive(func(s *metric.Spec) { s.Streams, s.Mode = 1, metric.ModeIn })
	r.until("udp in", udp(20e6))
	if err := r.Pause(r.ctx); err != nil {
		t.Error(err)
	}
	r.until("only the probe", func(f *metric.Frame) bool { return f.RxBps.IsZero() && f.LossFrom == metric.FromProbe })
	r.drive(func(s *metric.Spec) { s.Probe = 0 })
	r.until("load without probe", func(f *metric.Frame) bool { return near(f.RxBps, 20e6) && f.RttMs.IsZero() })
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestLoopback(t *testing.T) {
	fds, procs, threads := descriptors(), runtime.NumGoroutine(), runtime.GOMAXPROCS(0)
	for _, c := range []struct{ listen, dial string }{{":0", "127.0.0.1"}, {"[::1]:0", "::1"}} {
		s, err := serveNative(c.listen)
		if err != nil {
			need(t, false, "cannot listen on "+c.listen+": "+err.Error())
		}
		_, port, err := net.SplitHostPort(s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		tour(t, net.JoinHostPort(c.dial, port))
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	settles(t, "open descriptors", fds+1, descriptors) // the poller's own
	settles(t, "goroutines", procs, runtime.NumGoroutine)
	settles(t, "Ps", threads, func() int { return runtime.GOMAXPROCS(0) })
}

// BenchmarkTick is one tick of the sampler, of a session with four streams each way.
func BenchmarkTick(b *testing.B) {
	s, err := serveNative("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	r := dial(b, s.Addr())
	r.drive(func(s *metric.Spec) { s.Proto, s.Mode, s.Streams, s.RateBps = metric.UDP, metric.ModeBoth, 4, 1e6 })
	r.read.Close()
	b.ReportAllocs()
	for b.Loop() {
		r.sample(0)
	}
}
