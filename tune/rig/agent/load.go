package agent

import (
	"cmp"
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
	sock, calls := &spec.Near, &spec.NearCalls
	if s.Side == knob.Far {
		sock, calls = &spec.Far, &spec.FarCalls
	}
	switch s.Knob {
	case "socket.congestion":
		sock.Congestion = s.Value
		return nil
	case "socket.nodelay":
		sock.NoDelay = s.Value == metric.On
		return nil
	case "engine.mode":
		spec.Mode = metric.Mode(s.Value)
		return nil
	case "engine.protocol":
		spec.Proto = metric.Proto(s.Value)
		spec.Size = 0 // a write's size means nothing to datagrams, nor the reverse
		return nil
	case "engine.gro":
		calls.GRO = s.Value
		if s.Value == auto {
			calls.GRO = metric.Auto
		}
		return nil
	case "engine.affinity":
		calls.Affinity = s.Value
		if s.Value == knob.AnyCPU {
			calls.Affinity = ""
		}
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
	case "socket.maxseg":
		sock.MSS = int(n)
	case "socket.tos":
		sock.TOS = int(n)
	case "engine.rate":
		spec.RateBps = n
	case "engine.streams":
		spec.Streams = int(n)
	case "engine.size":
		spec.Size = int(n)
	case "engine.batch":
		calls.Batch = int(n)
	case "engine.gso":
		calls.GSO = int(n)
	default:
		return fmt.Errorf("%w: the load has no %s", rig.ErrInput, s.Knob)
	}
	return nil
}

// auto is the word for the engine's own choice.
const auto = "auto"

// fields are what knobs of the load are called in [metric.Granted.Fixed]; those of an end follow its side there.
var fields = map[string]string{
	"engine.rate": "rate_bps", "engine.streams": "streams", "engine.size": "size", "engine.mode": "mode",
	"engine.protocol": "proto",
	"socket.sndbuf":   "sndbuf", "socket.rcvbuf": "rcvbuf", "socket.congestion": "congestion",
	"socket.nodelay": "nodelay", "socket.maxseg": "mss", "socket.tos": "tos",
	"engine.batch": "batch", "engine.gso": "gso", "engine.gro": "gro", "engine.affinity": "affinity",
}

// callKnobs are those of [metric.Calls], which a dialect may fix all together.
var callKnobs = map[string]bool{"engine.batch": true, "engine.gso": true, "engine.gro": true, "engine.affinity": true}

// fix greys the knobs that the dialect cannot turn.
func fix(states []knob.State, fixed map[string]string) []knob.State {
	for i := range states {
		s := &states[i]
		name := fields[s.Knob]
		why := fixed[name]
		if why == "" {
			why = fixed[string(s.Side)+"."+name]
		}
		if why == "" && callKnobs[s.Knob] {
			why = fixed[string(s.Side)+"_calls"]
		}
		if why == "" {
			why = fixed[string(s.Side)]
		}
		s.Fixed = why
	}
	return states
}

func engineStates(s metric.Spec, g metric.Granted) []knob.State {
	at := func(side knob.Side, name, value string) knob.State {
		return knob.State{Knob: name, Side: side, Value: value}
	}
	out := []knob.State{
		at(knob.Near, "engine.rate", strconv.FormatInt(s.RateBps, 10)),
		at(knob.Near, "engine.streams", strconv.Itoa(s.Streams)),
		at(knob.Near, "engine.size", strconv.Itoa(s.Size)),
		at(knob.Near, "engine.mode", string(s.Mode)),
		at(knob.Near, "engine.protocol", string(s.Proto)),
	}
	for _, end := range []struct {
		side  knob.Side
		calls metric.Calls
	}{{knob.Near, s.NearCalls}, {knob.Far, s.FarCalls}} {
		c := end.calls
		if s.Proto == metric.UDP {
			out = append(out,
				at(end.side, "engine.batch", strconv.Itoa(c.Batch)),
				at(end.side, "engine.gso", strconv.Itoa(c.GSO)),
				at(end.side, "engine.gro", cmp.Or(c.GRO, auto)))
		}
		out = append(out, at(end.side, "engine.affinity", cmp.Or(c.Affinity, knob.AnyCPU)))
	}
	return fix(out, g.Fixed)
}

func socketStates(s metric.Spec, g metric.Granted) []knob.State {
	var out []knob.State
	for _, end := range []struct {
		side    knob.Side
		asked   metric.Socket
		granted metric.GrantedSocket
	}{{knob.Near, s.Near, g.Near}, {knob.Far, s.Far, g.Far}} {
		at := func(name, value string) knob.State { return knob.State{Knob: name, Side: end.side, Value: value} }
		out = append(out,
			buffer("socket.sndbuf", end.side, end.asked.SndBuf, end.granted.SndBuf),
			buffer("socket.rcvbuf", end.side, end.asked.RcvBuf, end.granted.RcvBuf),
			at("socket.tos", strconv.Itoa(end.asked.TOS)))
		if s.Proto == metric.TCP {
			congestion := at("socket.congestion", end.granted.Congestion)
			congestion.Offers = congestions()
			out = append(out, congestion, at("socket.nodelay", onOff(end.asked.NoDelay)),
				at("socket.maxseg", strconv.Itoa(end.asked.MSS)))
		}
	}
	return fix(out, g.Fixed)
}

func onOff(on bool) string {
	if on {
		return metric.On
	}
	return metric.Off
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
