package tui

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
)

// fakeRig is a host of a few knobs whose kernel doubles socket buffers, drops TSO with checksums, and keeps LRO. Its feed
// is the test's to put into.
type fakeRig struct {
	feed *metric.Feed

	mu     sync.Mutex
	states []knob.State
	start  []knob.State
	kept   []string
	closed bool
	broken bool // reading panics
}

func newFakeRig(side knob.Side) *fakeRig {
	r := &fakeRig{feed: metric.NewFeed(), states: fakeStates(side)}
	r.start = slices.Clone(r.states)
	return r
}

// fakeStates is one end of a lab, or the host under it, as the kernel would tell it.
func fakeStates(side knob.Side) []knob.State {
	if side == knob.Host {
		return []knob.State{
			{Knob: "sysctl.net.core.netdev_max_backlog", Value: "1000"}, {Knob: "sysctl.net.core.netdev_budget", Value: "300"},
			{Knob: "sysctl.net.core.rmem_default", Value: "212992"},
			{Knob: "sysctl.net.core.rmem_max", Value: "4194304"}, {Knob: "sysctl.net.core.wmem_max", Value: "4194304"},
		}
	}
	s := []knob.State{
		{Knob: "feature.tso", Value: "on"}, {Knob: "feature.tx", Value: "on"},
		{Knob: "feature.tx-tcp-segmentation", Value: "on"}, {Knob: "feature.tx-tcp6-segmentation", Value: "on"},
		{Knob: "feature.tx-generic-segmentation", Value: "on"}, {Knob: "feature.rx-gro", Value: "off"},
		{Knob: "feature.tx-scatter-gather", Value: "on"}, {Knob: "feature.rx-checksum", Value: "on"},
		{Knob: "feature.rx-lro", Value: "off", Fixed: "fixed by driver"},
		{Knob: "feature.tx-udp-segmentation", Value: "on"},
		{Knob: "feature.netns-local", Value: "off", Fixed: "fixed by driver"},
		{Knob: "dev.mtu", Value: "1500", Min: 68, Max: 65535}, {Knob: "dev.tx_queue_len", Value: "1000"},
		{Knob: "coalesce.rx-usecs", Fixed: "not supported: Operation not supported"},
		{Knob: "ring.rx", Fixed: "not supported: Operation not supported"},
		{Knob: "sysctl.net.ipv4.tcp_rmem", Value: "4096 131072 6291456"}, {Knob: "sysctl.net.ipv4.tcp_wmem", Value: "4096 16384 4194304"},
		{Knob: "sysctl.net.ipv4.tcp_sack", Value: "1"},
	}
	if side == knob.Near {
		s = append(s,
			knob.State{Knob: "socket.sndbuf", Side: knob.Near, Value: "87040"}, knob.State{Knob: "socket.sndbuf", Side: knob.Far, Value: "87040"},
			knob.State{Knob: "socket.congestion", Side: knob.Near, Value: "cubic", Offers: []string{"reno", "cubic"}},
			knob.State{Knob: "socket.congestion", Side: knob.Far, Value: "cubic", Offers: []string{"reno", "cubic"}},
			knob.State{Knob: "engine.rate", Side: knob.Near, Value: "0"}, knob.State{Knob: "engine.streams", Side: knob.Near, Value: "4"},
			knob.State{Knob: "engine.mode", Side: knob.Near, Value: "out"}, knob.State{Knob: "engine.protocol", Side: knob.Near, Value: "tcp"})
	}
	return s
}

func (r *fakeRig) Describe(context.Context) (rig.Facts, error) { return rig.Facts{Host: "fake"}, nil }

func (r *fakeRig) Drive(_ context.Context, _ rig.Load) (metric.Granted, error) {
	return metric.Granted{Dialect: "native", Near: metric.GrantedSocket{Congestion: "cubic"}}, nil
}

func (r *fakeRig) Read(context.Context) ([]knob.State, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken {
		panic("a fault of the program")
	}
	return slices.Clone(r.states), nil
}

func (r *fakeRig) Apply(_ context.Context, plan knob.Plan) ([]knob.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []knob.Result
	for _, s := range plan {
		out = append(out, r.apply(s))
	}
	return out, nil
}

func (r *fakeRig) apply(set knob.Setting) knob.Result {
	i := slices.IndexFunc(r.states, func(s knob.State) bool {
		return s.Knob == set.Knob && (s.Side == set.Side || s.Side == "" || set.Side == "")
	})
	if i < 0 {
		return knob.Result{Setting: set, Outcome: knob.Refused, Reason: "not supported"}
	}
	s := &r.states[i]
	res := knob.Result{Setting: set, From: s.Value, Got: set.Value, Outcome: knob.Applied}
	switch {
	case s.Fixed != "":
		res.Got, res.Outcome, res.Reason = s.Value, knob.Refused, s.Fixed
		return res
	case set.Knob == "dev.mtu" && set.Value == "65535":
		res.Got, res.Outcome = "9000", knob.Adjusted
	case set.Knob == "socket.sndbuf":
		n, _ := strconv.Atoi(set.Value)
		res.Got = strconv.Itoa(2 * n)
	case set.Knob == "feature.tx" && set.Value == "off":
		for j := range r.states {
			if r.states[j].Knob == "feature.tso" {
				res.Also = append(res.Also, knob.Change{Knob: "feature.tso", From: r.states[j].Value, To: "off"})
				r.states[j].Value = "off"
			}
		}
	}
	res.Undo = knob.Plan{{Side: set.Side, Knob: set.Knob, Value: s.Value}}
	s.Value = res.Got
	return res
}

func (r *fakeRig) Undo(context.Context) ([]knob.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []knob.Result
	for i, s := range r.states {
		if was := r.start[i].Value; s.Value != was && !slices.Contains(r.kept, s.Knob) {
			out = append(out, knob.Result{Setting: knob.Setting{Knob: s.Knob, Value: was}, From: s.Value, Got: was, Outcome: knob.Applied})
			r.states[i].Value = was
		}
	}
	return out, nil
}

func (r *fakeRig) Keep(_ context.Context, knobs []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = append(r.kept, knobs...)
	return nil
}

// set moves a knob as another program would.
func (r *fakeRig) set(name, value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.states {
		if r.states[i].Knob == name {
			r.states[i].Value = value
		}
	}
}

func (r *fakeRig) Watch(name string) *metric.Reader { return r.feed.Reader(name, 100) }

func (r *fakeRig) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.closed = true
		r.feed.Close()
	}
	return nil
}

// newBench is a Bench over two fake hosts. It is closed with the test.
func newBench(t testing.TB) (*rig.Bench, *fakeRig) {
	near, far, host := newFakeRig(knob.Near), newFakeRig(knob.Far), newFakeRig(knob.Host)
	b := rig.NewBench(near, far, host, rig.Peer{Addr: "10.0.0.2:5202"})
	drive(t, b)
	return b, near
}

// newStockBench is a Bench over a fake host that drives traffic against a peer which is not ours to turn.
func newStockBench(t testing.TB) *rig.Bench {
	b := rig.NewBench(newFakeRig(knob.Near), nil, nil, rig.Peer{Addr: "10.0.0.2:5201"})
	drive(t, b)
	return b
}

// drive starts the load, and closes the Bench with the test.
func drive(t testing.TB, b *rig.Bench) {
	if _, err := b.Drive(context.Background(), metric.DefaultSpec()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
		defer stop()
		if _, err := b.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}
