package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine"
	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
)

// driving is a Local that drives traffic against a server of this process, and a reader of its feed.
type driving struct {
	*Local
	t    *testing.T
	read *metric.Reader
	peer *engine.Server
	load rig.Load
}

func serveAt(addr string) (*engine.Server, error) {
	return engine.Listen(metric.Serve{Native: addr}, metric.NewFeed())
}

func newDriving(t *testing.T) *driving {
	t.Helper()
	l, err := NewLocal(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	d := &driving{Local: l, t: t, read: l.Watch("test")}
	if d.peer, err = serveAt("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.peer.Close() })
	d.load = rig.Load{Peer: rig.Peer{Addr: d.peer.Addr()}, Spec: metric.DefaultSpec()}
	if _, err := l.Drive(t.Context(), d.load); err != nil {
		t.Fatal(err)
	}
	return d
}

// frame is the next Frame that is as wanted.
func (d *driving) frame(what string, ok func(*metric.Frame) bool) *metric.Frame {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), time.Minute)
	defer cancel()
	for {
		rec, err := d.read.Next(ctx)
		if err != nil {
			d.t.Fatalf("no frame with %s: %v", what, err)
		}
		if f, is := rec.(*metric.Frame); is && ok(f) {
			return f
		}
	}
}

// lose ends the peer and waits until that is noticed.
func (d *driving) lose() {
	d.t.Helper()
	e := d.engine()
	if err := d.peer.Close(); err != nil {
		d.t.Fatal(err)
	}
	<-e.Done()
	if e.Err() == nil {
		d.t.Fatal("the engine has no reason for its end")
	}
}

// comeBack lets the peer serve again where it did.
func (d *driving) comeBack() {
	d.t.Helper()
	s, err := serveAt(d.load.Peer.Addr)
	if err != nil {
		d.t.Fatal(err)
	}
	d.peer = s
	d.t.Cleanup(func() { s.Close() })
}

func flows(f *metric.Frame) bool { return f.RxBps.Or(0) > 1e6 }

// A peer that was lost and comes back is found again, the load flows on, and so does the time.
func TestTrafficComesBackByItself(t *testing.T) {
	d := newDriving(t)
	d.frame("traffic", flows)
	d.lose()
	last := d.engine().Now()
	d.comeBack()
	if f := d.frame("traffic again", func(f *metric.Frame) bool { return f.T > last && flows(f) }); f.T-f.Span < last {
		t.Errorf("an interval of %v s at %v, the peer was lost before %v", f.Span, f.T, last)
	}
}

// What asks for traffic does not wait until the peer is found again.
func TestTurnsReviveTraffic(t *testing.T) {
	for name, turn := range map[string]func(*driving) error{
		"drive":  func(d *driving) error { _, err := d.Drive(t.Context(), d.load); return err },
		"reopen": func(d *driving) error { _, err := d.Drive(t.Context(), rig.Load{Reopen: true}); return err },
		"knob": func(d *driving) error {
			res, err := d.Apply(t.Context(), knob.Plan{{Knob: "engine.streams", Value: "2"}})
			if err == nil && res[0].Outcome != knob.Applied {
				t.Errorf("%+v", res[0])
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDriving(t)
			d.frame("traffic", flows)
			d.lose()
			if _, err := d.Drive(t.Context(), d.load); !errors.Is(err, rig.ErrPeer) {
				t.Errorf("against nobody: %v", err)
			}
			last := d.engine().Now()
			d.comeBack()
			if err := turn(d); err != nil {
				t.Fatal(err)
			}
			d.frame("traffic again", func(f *metric.Frame) bool { return f.T > last && flows(f) })
		})
	}
}

// Load that was stopped stays so when the peer comes back; the probe is there again.
func TestStoppedTrafficStaysStopped(t *testing.T) {
	d := newDriving(t)
	d.frame("traffic", flows)
	d.lose()
	if _, err := d.Drive(t.Context(), rig.Load{}); err != nil {
		t.Fatal(err)
	}
	last := d.engine().Now()
	d.comeBack()
	f := d.frame("the probe", func(f *metric.Frame) bool { return f.T > last && f.RttFrom == metric.FromProbe })
	if !f.RxBps.IsZero() || d.engine().Spec() != d.load.Spec {
		t.Errorf("%+v", f)
	}
}
