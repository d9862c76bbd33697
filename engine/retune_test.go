package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// notes are those of the feed up to the next Frame that is as wanted.
func (r *rigged) notesUntil(what string, ok func(*metric.Frame) bool) []string {
	r.t.Helper()
	var notes []string
	for {
		rec, err := r.read.Next(r.ctx)
		if err != nil {
			r.t.Fatalf("no frame with %s: %v", what, err)
		}
		switch v := rec.(type) {
		case *metric.Note:
			notes = append(notes, v.Text)
		case *metric.Frame:
			if ok(v) {
				return notes
			}
		}
	}
}

// Congestion control is switched under the running streams of both ends, and what both kernels say is granted.
func TestCongestionInPlace(t *testing.T) {
	s, err := serveNative("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := dial(t, s.Addr())
	r.drive(func(s *metric.Spec) {
		s.Mode, s.Streams, s.Near.Congestion, s.Far.Congestion = metric.ModeBoth, 2, "cubic", "cubic"
	})
	r.until("traffic", flows)
	g := r.drive(func(s *metric.Spec) { s.Near.Congestion, s.Far.Congestion = "reno", "reno" })
	if g.Near.Congestion != "reno" || g.Far.Congestion != "reno" || g.Near.MSS == 0 || g.Far.SndBuf == 0 {
		t.Errorf("granted %+v", g)
	}
	if notes := r.notesUntil("traffic", flows); len(notes) > 0 {
		t.Errorf("it was not in place: %q", notes)
	}
	// A refusal of one end changes neither.
	spec := r.Spec()
	spec.Near.Congestion, spec.Far.Congestion = "nonesuch", "cubic"
	if _, err := r.Drive(r.ctx, spec); err == nil || !strings.Contains(err.Error(), "near end: set congestion control nonesuch") {
		t.Errorf("got %v", err)
	}
	if g := r.Granted(); g.Near.Congestion != "reno" || g.Far.Congestion != "reno" || r.Spec().Far.Congestion != "reno" {
		t.Errorf("after a refusal: %+v", g)
	}
	// The kernel's own choice is had by new streams only.
	r.drive(func(s *metric.Spec) { s.Near.Congestion, s.Far.Congestion = "", "" })
	r.untilNote("streams reopened")
}

// The threads of both ends run where they are placed, while the streams go on, and the Frames say so.
func TestAffinity(t *testing.T) {
	need(t, flow.CheckCPUs("0-1") == nil, "needs processors 0 and 1")
	s, err := serveNative("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, proto := range []metric.Proto{metric.TCP, metric.UDP} {
		r := dial(t, s.Addr())
		r.drive(func(s *metric.Spec) {
			s.Proto, s.RateBps, s.NearCalls.Affinity, s.FarCalls.Affinity = proto, 50e6, "0", "1"
		})
		at := func(tx, rx int) func(*metric.Frame) bool {
			return func(f *metric.Frame) bool {
				return flows(f) && slices.Equal(f.TxCPUs, []int{tx}) && slices.Equal(f.RxCPUs, []int{rx})
			}
		}
		r.until("threads where they are placed", at(0, 1))
		r.drive(func(s *metric.Spec) { s.NearCalls.Affinity, s.FarCalls.Affinity = "1", "0" })
		if notes := r.notesUntil("threads where they are placed now", at(1, 0)); len(notes) > 0 {
			t.Errorf("it was not in place: %q", notes)
		}
		for _, change := range []func(*metric.Spec){
			func(s *metric.Spec) { s.NearCalls.Affinity = "8191" },
			func(s *metric.Spec) { s.FarCalls.Affinity = "8191" },
		} {
			spec := r.Spec()
			change(&spec)
			for range 2 { // of running streams, then of new ones
				if _, err := r.Drive(r.ctx, spec); err == nil || !strings.Contains(err.Error(), "processor 8191") ||
					strings.Contains(err.Error(), "\n") {
					t.Errorf("got %v", err)
				}
				spec.Size = 1000
			}
		}
		r.until("the old load", at(1, 0))
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The copyless ways carry load from either end.
func TestCopyless(t *testing.T) {
	s, err := serveNative("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := dial(t, s.Addr())
	for _, way := range []string{metric.Vmsplice, metric.Sendfile, metric.ZeroCopy} {
		r.drive(func(s *metric.Spec) {
			s.Mode, s.NearCalls, s.FarCalls = metric.ModeBoth, metric.Calls{Copy: way, SkipCopy: true}, metric.Calls{Copy: way, SkipCopy: true}
		})
		for _, dir := range []metric.Dir{metric.Out, metric.In} {
			f := r.until(way, func(f *metric.Frame) bool { return f.Dir == dir && flows(f) && f.Limited != nil })
			if f.CwndBytes.IsZero() || f.MinRttMs.IsZero() || f.DeliveryBps.IsZero() {
				t.Errorf("frame %+v", f)
			}
		}
	}
}
