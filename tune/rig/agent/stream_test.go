package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
)

// fakeRig answers at once, refuses one knob, and remembers its end.
type fakeRig struct {
	feed   *metric.Feed
	closed chan struct{}
}

func newFakeRig() *fakeRig { return &fakeRig{metric.NewFeed(), make(chan struct{})} }

func (*fakeRig) Describe(context.Context) (rig.Facts, error) {
	return rig.Facts{Version: "1", Device: "etn0"}, nil
}

func (*fakeRig) Drive(_ context.Context, l rig.Load) (metric.Granted, error) {
	if l.Peer.Addr == "" {
		return metric.Granted{}, fmt.Errorf("%w: connection refused", rig.ErrPeer)
	}
	return metric.Granted{Dialect: "native", Size: l.Spec.Size}, nil
}

func (*fakeRig) Read(context.Context) ([]knob.State, error) {
	return []knob.State{{Knob: "feature.rx-gro", Value: "on"}}, nil
}

func (*fakeRig) Apply(_ context.Context, p knob.Plan) ([]knob.Result, error) {
	var out []knob.Result
	for _, s := range p {
		out = append(out, knob.Result{Setting: s, From: "on", Got: s.Value, Outcome: knob.Applied,
			Undo: knob.Plan{{Knob: s.Knob, Value: "on"}}})
	}
	return out, nil
}

func (*fakeRig) Keep(_ context.Context, knobs []string) error {
	if len(knobs) == 1 && knobs[0] == "dev.mtu" {
		return nil
	}
	return fmt.Errorf("%w: never turned", rig.ErrInput)
}

func (*fakeRig) Undo(context.Context) ([]knob.Result, error) {
	return []knob.Result{{Setting: knob.Setting{Knob: "dev.mtu", Value: "1500"}, Outcome: knob.Refused}}, errors.New("dev.mtu is still 9000")
}

func (f *fakeRig) Watch(name string) *metric.Reader { return f.feed.Reader(name, 10) }

func (f *fakeRig) Close() error {
	close(f.closed)
	f.feed.Close()
	return nil
}

// connect serves f on one end of a pipe and dials it on the other, after what a shell may say first.
func connect(t *testing.T, f *fakeRig, before string) *Remote {
	t.Helper()
	here, there := net.Pipe()
	served := make(chan error, 1)
	go func() {
		io.WriteString(there, before)
		err := Serve(context.Background(), there, there, f)
		there.Close()
		served <- err
	}()
	r, err := Dial(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		<-served
	})
	return r
}

func TestStreamCarriesEveryMethod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRig()
		r := connect(t, f, "Last login: Mon\n\nroot@board:~# ")
		ctx := t.Context()
		if facts, _ := r.Describe(ctx); facts.Device != "etn0" {
			t.Errorf("facts %+v", facts)
		}
		g, err := r.Drive(ctx, rig.Load{Peer: rig.Peer{Addr: "x"}, Spec: metric.Spec{Size: 7}})
		if err != nil || g.Size != 7 {
			t.Errorf("drive: %+v %v", g, err)
		}
		if _, err := r.Drive(ctx, rig.Load{}); !errors.Is(err, rig.ErrPeer) || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("an error lost its kind or its words: %v", err)
		}
		states, err := r.Read(ctx)
		if err != nil || len(states) != 1 || states[0].Value != "on" {
			t.Errorf("read: %+v %v", states, err)
		}
		res, err := r.Apply(ctx, knob.Plan{{Knob: "feature.rx-gro", Value: "off"}})
		if err != nil || len(res) != 1 || res[0].Got != "off" || len(res[0].Undo) != 1 {
			t.Errorf("apply: %+v %v", res, err)
		}
		if err := r.Keep(ctx, []string{"dev.mtu"}); err != nil {
			t.Errorf("keep: %v", err)
		}
		if err := r.Keep(ctx, nil); !errors.Is(err, rig.ErrInput) {
			t.Errorf("keep nothing: %v", err)
		}
		back, err := r.Undo(ctx)
		if err == nil || len(back) != 1 {
			t.Errorf("undo must give its list beside its error: %+v %v", back, err)
		}
		w := r.Watch("t")
		f.feed.Put(&metric.Frame{T: 3, Dir: metric.Out})
		f.feed.Put(&metric.Note{Text: "hi"})
		if rec, err := w.Next(ctx); err != nil || rec.(*metric.Frame).T != 3 {
			t.Errorf("%v %v", rec, err)
		}
		if rec, err := w.Next(ctx); err != nil || rec.(*metric.Note).Text != "hi" {
			t.Errorf("%v %v", rec, err)
		}
	})
}

func TestBeatsKeepAStreamAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := connect(t, newFakeRig(), "")
		<-time.After(time.Minute) // of the bubble's clock
		select {
		case <-r.Gone():
			t.Error("a stream with beats was lost")
		default:
		}
	})
}

func TestEndOfStreamUndoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRig()
		r := connect(t, f, "")
		w := r.Watch("t")
		r.Close()
		<-f.closed
		if _, err := w.Next(t.Context()); err != io.EOF {
			t.Errorf("reader of a lost stream: %v", err)
		}
		if _, err := r.Read(t.Context()); !errors.Is(err, rig.ErrLost) {
			t.Errorf("a call on a lost stream: %v", err)
		}
	})
}

func TestSilenceIsALostStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRig()
		here, there := net.Pipe()
		go io.Copy(io.Discard, here) // hears, says nothing
		start := time.Now()
		err := Serve(context.Background(), there, there, f)
		if !errors.Is(err, rig.ErrLost) || time.Since(start) != silence {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		<-f.closed
		there.Close()
		here.Close()
	})
}

func TestAReaderThatStoppedDoesNotHoldTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFakeRig()
		here, there := net.Pipe()
		go metric.NewLineReader(here).Next() // reads the hello and then, like a stopped process, nothing
		err := Serve(context.Background(), there, there, f)
		if !errors.Is(err, rig.ErrLost) {
			t.Errorf("%v", err)
		}
		<-f.closed
		there.Close()
		here.Close()
	})
}

func TestDialRefuses(t *testing.T) {
	for _, c := range []struct {
		name, says, want string
		kind             error
	}{
		{"fatal", `{"type":"fatal","kind":"permission","text":"veth pair: operation not permitted"}` + "\n", "veth pair", rig.ErrPermission},
		{"version", `{"type":"hello","protocol":9,"version":"v9"}` + "\n", "use the same version", rig.ErrLost},
		{"not ethtune", strings.Repeat("login: \n", maxNoise/4), "is that ethtune?", rig.ErrLost},
		{"ended", "sh: ethtune: not found\n", "ended before its hello", rig.ErrLost},
	} {
		synctest.Test(t, func(t *testing.T) {
			here, there := net.Pipe()
			go func() { io.WriteString(there, c.says); there.Close() }()
			_, err := Dial(t.Context(), here)
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v", c.name, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		start := time.Now()
		if _, err := Dial(t.Context(), here); !errors.Is(err, rig.ErrLost) || time.Since(start) != helloWithin {
			t.Errorf("silent agent: %v after %v", err, time.Since(start))
		}
		there.Close()
	})
}

func FuzzAsk(f *testing.F) {
	for _, m := range []string{methodDrive, methodRead, methodApply, methodKeep, methodUndo, "?"} {
		f.Add(m, `[{"knob":"dev.mtu","value":"1"}]`)
	}
	f.Fuzz(func(t *testing.T, method, args string) {
		res, err := do(t.Context(), newFakeRig(), ask{Method: method, Args: json.RawMessage(args)})
		if res == nil && err == nil {
			t.Error("neither a result nor an error")
		}
	})
}
