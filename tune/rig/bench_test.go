package rig

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
)

// fakeRig has one knob a name, keeps what it is told, and refuses "dev.mtu".
type fakeRig struct {
	feed   *metric.Feed
	values map[string]string
	sides  []knob.Side // of the settings it was given
	fail   error
}

func newFake() *fakeRig {
	return &fakeRig{feed: metric.NewFeed(), values: map[string]string{"feature.rx-gro": "on", "dev.mtu": "1500", "engine.rate": "0"}}
}

func (*fakeRig) Describe(context.Context) (Facts, error) { return Facts{}, nil }

func (*fakeRig) Drive(_ context.Context, l Load) (metric.Granted, error) {
	return metric.Granted{Dialect: l.Peer.Addr}, nil
}

func (f *fakeRig) Read(context.Context) ([]knob.State, error) {
	var out []knob.State
	for k, v := range f.values {
		out = append(out, knob.State{Knob: k, Value: v})
	}
	return out, f.fail
}

func (f *fakeRig) Apply(_ context.Context, p knob.Plan) ([]knob.Result, error) {
	if f.fail != nil {
		return nil, f.fail
	}
	s := p[0]
	f.sides = append(f.sides, s.Side)
	r := knob.Result{Setting: s, From: f.values[s.Knob], Outcome: knob.Applied}
	if s.Knob == "dev.mtu" {
		r.Got, r.Outcome, r.Reason = r.From, knob.Refused, "Invalid argument"
		return []knob.Result{r}, nil
	}
	r.Undo = knob.Plan{{Knob: s.Knob, Value: r.From}}
	f.values[s.Knob] = s.Value
	r.Got = s.Value
	return []knob.Result{r}, nil
}

func (*fakeRig) Keep(context.Context, []string) error        { return nil }
func (*fakeRig) Undo(context.Context) ([]knob.Result, error) { return nil, nil }
func (f *fakeRig) Watch(name string) *metric.Reader          { return f.feed.Reader(name, 10) }
func (f *fakeRig) Close() error                              { f.feed.Close(); return nil }

func TestBenchRoutesNumbersAndUndoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := newFake(), newFake()
		b := NewBench(near, far, nil, Peer{Addr: "peer:1"})
		ctx := t.Context()
		w := b.Watch("test")
		synctest.Wait()
		near.feed.Put(&metric.Frame{T: 2, Dir: metric.Out})
		far.feed.Put(&metric.Frame{T: 99, Dir: metric.Out}) // is in the near end's Frames already
		synctest.Wait()
		<-time.After(3 * time.Second)
		if _, err := b.Read(ctx); err != nil {
			t.Fatal(err)
		}
		marks, err := b.Apply(ctx, knob.Plan{
			{Side: knob.Far, Knob: "feature.rx-gro", Value: "off"},
			{Side: knob.Far, Knob: "engine.rate", Value: "5"},
			{Knob: "dev.mtu", Value: "1"},
		})
		if err != nil || len(marks) != 3 {
			t.Fatal(marks, err)
		}
		if m := marks[0]; m.N != 1 || m.T != 5 || m.Side != "far" || m.From != "on" || m.Got != "off" || m.Outcome != "applied" {
			t.Errorf("%+v", m)
		}
		if m := marks[2]; m.Side != "near" || m.Outcome != "refused" || m.Reason != "Invalid argument" {
			t.Errorf("%+v", m)
		}
		if far.values["feature.rx-gro"] != "off" || near.values["feature.rx-gro"] != "on" || near.values["engine.rate"] != "5" {
			t.Errorf("near %v far %v", near.values, far.values)
		}
		// A knob of the load goes to the near end with its side; others lose theirs on the way.
		if !slices.Equal(near.sides, []knob.Side{knob.Far, ""}) || !slices.Equal(far.sides, []knob.Side{""}) {
			t.Errorf("sides %q %q", near.sides, far.sides)
		}
		for _, want := range []struct {
			knob string
			side string
		}{{"engine.rate", "far"}, {"feature.rx-gro", "far"}} {
			m, err := b.UndoLast(ctx)
			if err != nil || m == nil || m.Knob != want.knob || m.Side != want.side || m.Outcome != "applied" {
				t.Errorf("undo %+v %v", m, err)
			}
		}
		if far.values["feature.rx-gro"] != "on" || near.values["engine.rate"] != "0" {
			t.Errorf("near %v far %v", near.values, far.values)
		}
		if m, err := b.UndoLast(ctx); m != nil || err != nil {
			t.Errorf("there was nothing left: %+v %v", m, err)
		}
		if _, err := b.Close(ctx); err != nil {
			t.Error(err)
		}
		var got []int
		for {
			rec, err := w.Next(ctx)
			if err == io.EOF {
				break
			}
			if m, ok := rec.(*metric.Mark); ok {
				got = append(got, m.N)
			}
			if f, ok := rec.(*metric.Frame); ok && f.T != 2 {
				t.Errorf("a Frame of the far end: %v", f.T)
			}
		}
		if !slices.Equal(got, []int{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}) {
			t.Errorf("marks %v: each opens and closes, in order", got)
		}
	})
}

func TestBenchSaysWhoWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := newFake(), newFake()
		b := NewBench(near, far, nil, Peer{})
		if b.Lost() != nil {
			t.Error("lost too early")
		}
		synctest.Wait()
		far.feed.Close()
		<-b.Done()
		if err := b.Lost(); !errors.Is(err, ErrLost) || err.Error() != "far: stream to agent lost" {
			t.Errorf("%v", err)
		}
		b.Close(t.Context())
	})
}

func TestBenchTurnThatGotNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near := newFake()
		b := NewBench(near, nil, nil, Peer{})
		defer b.Close(t.Context())
		near.fail = ErrLost
		marks, err := b.Apply(t.Context(), knob.Plan{{Knob: "dev.mtu", Value: "9000"}})
		if !errors.Is(err, ErrLost) || len(marks) != 1 || marks[0].Outcome != "refused" {
			t.Errorf("%+v %v", marks, err)
		}
		marks, err = b.Apply(t.Context(), knob.Plan{{Side: knob.Far, Knob: "dev.mtu", Value: "9000"}})
		if !errors.Is(err, ErrInput) || marks[0].Reason == "" {
			t.Errorf("a peer that is not ours: %+v %v", marks, err)
		}
	})
}
