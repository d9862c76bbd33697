package agent

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
)

// loadFamily is a family of knobs of the running load. Turning one re-aims the engine.
type loadFamily struct {
	name string
	of   *Local
	read func(metric.Spec, metric.Granted) []knob.State
}

func loadFamilies(l *Local) []tune.Family {
	return []tune.Family{
		&loadFamily{"socket", l, socketStates},
		&loadFamily{"engine", l, engineStates},
	}
}

// Name is the family's.
func (f *loadFamily) Name() string { return f.name }

// Read returns the knobs of the running load, and none where no load runs.
func (f *loadFamily) Read(context.Context) ([]knob.State, error) {
	e := f.of.engine()
	if e == nil {
		return nil, nil
	}
	return f.read(e.Spec(), e.Granted()), nil
}

// Write re-aims the load with the settings made to its Spec.
func (f *loadFamily) Write(ctx context.Context, settings []knob.Setting) error {
	e, err := f.of.running(ctx)
	if err != nil {
		return err
	}
	if e == nil {
		return fmt.Errorf("%w: no load runs", rig.ErrInput)
	}
	spec := e.Spec()
	for _, s := range settings {
		if err := set(&spec, s); err != nil {
			return err
		}
	}
	if err := spec.Validate(); err != nil {
		return fmt.Errorf("%w: %w", rig.ErrInput, err)
	}
	_, err = e.Drive(ctx, spec)
	return err
}

// set makes one setting to spec.
func set(spec *metric.Spec, s knob.Setting) error {
	sock := &spec.Near
	if s.Side == knob.Far {
		sock = &spec.Far
	}
	var n int64
	switch s.Knob {
	case "socket.congestion":
		sock.Congestion = s.Value
		return nil
	case "engine.mode":
		spec.Mode = metric.Mode(s.Value)
		return nil
	case "engine.protocol":
		spec.Proto = metric.Proto(s.Value)
		spec.Size = 0 // a write's size means nothing to datagrams, nor the reverse
		return nil
	}
	n, err := strconv.ParseInt(s.Value, 10, 64)
	if err != nil {
		return fmt.Errorf("%w: %s takes a number, not %.40q", rig.ErrInput, s.Knob, s.Value)
	}
	switch s.Knob {
	case "socket.sndbuf":
		sock.SndBuf = int(n)
	case "socket.rcvbuf":
		sock.RcvBuf = int(n)
	case "engine.rate":
		spec.RateBps = n
	case "engine.streams":
		spec.Streams = int(n)
	case "engine.size":
		spec.Size = int(n)
	default:
		return fmt.Errorf("%w: the load has no %s", rig.ErrInput, s.Knob)
	}
	return nil
}

func engineStates(s metric.Spec, _ metric.Granted) []knob.State {
	at := func(name, value string) knob.State { return knob.State{Knob: name, Side: knob.Near, Value: value} }
	return []knob.State{
		at("engine.rate", strconv.FormatInt(s.RateBps, 10)),
		at("engine.streams", strconv.Itoa(s.Streams)),
		at("engine.size", strconv.Itoa(s.Size)),
		at("engine.mode", string(s.Mode)),
		at("engine.protocol", string(s.Proto)),
	}
}

func socketStates(s metric.Spec, g metric.Granted) []knob.State {
	var out []knob.State
	for _, end := range []struct {
		side    knob.Side
		asked   metric.Socket
		granted metric.GrantedSocket
	}{{knob.Near, s.Near, g.Near}, {knob.Far, s.Far, g.Far}} {
		out = append(out,
			buffer("socket.sndbuf", end.side, end.asked.SndBuf, end.granted.SndBuf),
			buffer("socket.rcvbuf", end.side, end.asked.RcvBuf, end.granted.RcvBuf))
		if s.Proto == metric.TCP {
			out = append(out, knob.State{Knob: "socket.congestion", Side: end.side, Value: end.granted.Congestion,
				Offers: congestions()})
		}
	}
	return out
}

// buffer is the state of a socket buffer: 0 while the kernel chooses, else what it granted, which is twice what it took,
// with what was asked as Wanted.
func buffer(name string, side knob.Side, asked, granted int) knob.State {
	st := knob.State{Knob: name, Side: side, Value: "0"}
	if asked > 0 && granted > 0 {
		st.Value, st.Wanted = strconv.Itoa(granted), strconv.Itoa(asked)
	}
	return st
}
