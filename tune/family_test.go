package tune

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/ethtune/ethtune/tune/internal/kernel"
	"github.com/ethtune/ethtune/tune/internal/kernel/kerneltest"
	"github.com/ethtune/ethtune/tune/knob"
)

// traffic is a family as an engine gives it: knobs of two sides, and buffers that the kernel doubles, caps, and sizes by
// itself while nobody asks for a size.
type traffic struct {
	asked map[key]string
	auto  int64
	fail  error // of Read
}

const bufCap = 400_000

func newTraffic() *traffic {
	f := &traffic{asked: make(map[key]string), auto: 16384}
	for _, side := range []knob.Side{knob.Near, knob.Far} {
		f.asked[key{side, "socket.sndbuf"}] = "0"
	}
	f.asked[key{knob.Near, "engine.rate"}] = "0"
	return f
}

func (f *traffic) Name() string { return "traffic" }

func (f *traffic) Read(context.Context) ([]knob.State, error) {
	if f.fail != nil {
		return nil, f.fail
	}
	var list []knob.State
	for _, side := range []knob.Side{knob.Near, knob.Far} {
		s := knob.State{Side: side, Knob: "socket.sndbuf", Wanted: f.asked[key{side, "socket.sndbuf"}]}
		n, err := strconv.ParseInt(s.Wanted, 10, 64)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			f.auto += 1000 // tuned by the kernel from one look to the next
			n = f.auto
		}
		s.Value = strconv.FormatInt(2*min(n, bufCap), 10)
		list = append(list, s)
	}
	return append(list, knob.State{Side: knob.Near, Knob: "engine.rate", Value: f.asked[key{knob.Near, "engine.rate"}]}), nil
}

func (f *traffic) Write(_ context.Context, settings []knob.Setting) error {
	for _, s := range settings {
		f.asked[key{s.Side, s.Knob}] = s.Value
	}
	return nil
}

func TestFamilyOfTwoSides(t *testing.T) {
	f := newTraffic()
	tuner := New(kernel.NewDevice(kerneltest.New(), kerneltest.Dev), f)
	for _, tt := range []struct {
		turn    knob.Setting
		outcome knob.Outcome
		got     string
		undo    string
	}{
		{set("far:sndbuf=64K"), knob.Applied, "131072", "sndbuf=0"},
		{set("far:sndbuf=64K"), knob.Unchanged, "131072", ""},
		{set("far:sndbuf=1M"), knob.Adjusted, "800000", "sndbuf=65536"},
		{set("rate=100M"), knob.Applied, "100000000", "rate=0"},
		{knob.Setting{Knob: "engine.rate", Value: "0"}, knob.Applied, "0", "rate=100000000"},
		{set("far:rate=1M"), knob.Refused, "", ""},
	} {
		r := apply(t, tuner, tt.turn)[0]
		if r.Outcome != tt.outcome || r.Got != tt.got || undoText(r.Undo) != tt.undo || len(r.Also) != 0 {
			t.Errorf("%+v: %+v", tt.turn, r)
		}
		for _, u := range r.Undo {
			if want := tt.turn.Side; u.Side != want && want != "" {
				t.Errorf("%+v: the undo is for side %q", tt.turn, u.Side)
			}
		}
	}
	if near := f.asked[key{knob.Near, "socket.sndbuf"}]; near != "0" {
		t.Errorf("near sndbuf was asked for %s", near)
	}
	results, err := tuner.Undo(t.Context())
	if err != nil || len(results) != 1 {
		t.Errorf("undo: %+v, %v", results, err)
	}
	if far := f.asked[key{knob.Far, "socket.sndbuf"}]; far != "0" {
		t.Errorf("far sndbuf was left at %s", far)
	}
}

func TestFamilyThatCannotBeRead(t *testing.T) {
	f := newTraffic()
	tuner := New(f, kernel.NewDevice(kerneltest.New(), kerneltest.Dev))
	f.fail = errors.New("no answer from the far side")
	results := apply(t, tuner, plan("gro=off", "rate=1M")...)
	if results[0].Outcome != knob.Applied {
		t.Errorf("gro: %+v", results[0])
	}
	if r := results[1]; r.Outcome != knob.Refused || r.Reason != "read traffic knobs: no answer from the far side" {
		t.Errorf("rate: %+v", r)
	}
	if list, err := tuner.Read(t.Context()); err == nil || len(list) == 0 {
		t.Errorf("read: %d states, %v", len(list), err)
	}
	if _, err := New(f).Apply(t.Context(), plan("rate=1M")); err == nil {
		t.Error("nothing could be read and nothing is said")
	}
}

// deaf stops answering after its first write.
type deaf struct{ *traffic }

func (d deaf) Write(ctx context.Context, s []knob.Setting) error {
	defer func() { d.fail = errors.New("stream lost") }()
	return d.traffic.Write(ctx, s)
}

func TestWrittenAndNotReadBack(t *testing.T) {
	f := newTraffic()
	tuner := New(deaf{f})
	r := apply(t, tuner, set("rate=1M"))[0]
	if r.Outcome != knob.Partial || r.Got != "" || undoText(r.Undo) != "rate=0" {
		t.Errorf("%+v", r)
	}
	if _, err := tuner.Undo(t.Context()); !errors.Is(err, ErrNotRestored) {
		t.Errorf("undo of a family that is gone: %v", err)
	}
	f.fail = nil
	if _, err := tuner.Undo(t.Context()); f.asked[key{knob.Near, "engine.rate"}] != "0" {
		t.Errorf("the rate was not put back: %v", err)
	}
}
