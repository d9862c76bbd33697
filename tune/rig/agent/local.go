package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"github.com/ethtune/ethtune/engine"
	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/engine/nic"
	"github.com/ethtune/ethtune/tune"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
	"golang.org/x/sys/unix"
)

var _ rig.Rig = (*Local)(nil)

// Local is this host, in this process and its network namespace.
type Local struct {
	facts  rig.Facts
	feed   *metric.Feed
	kernel *tune.Tuner
	load   *tune.Tuner // knobs of the running load; they go with it and are never undone
	free   func() error

	mu     sync.Mutex
	server *engine.Server
	eng    *engine.Engine
	closed bool
}

// NewLocal makes the Rig of the interface dev in the calling process's network namespace.
func NewLocal(version, dev string) (*Local, error) {
	families, free, err := tune.Kernel(dev)
	if err != nil {
		return nil, err
	}
	l := &Local{facts: describe(version, dev), feed: metric.NewFeed(), kernel: tune.New(families...), free: free}
	l.load = tune.New(loadFamilies(l)...)
	return l, nil
}

func describe(version, dev string) rig.Facts {
	f := rig.Facts{Version: version, Device: dev, PID: os.Getpid(), CPUs: runtime.NumCPU()}
	f.Host, _ = os.Hostname()
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		f.Kernel = unix.ByteSliceToString(u.Release[:])
	}
	if c, err := nic.Open(); err == nil {
		f.Driver, _ = c.Driver(dev)
		c.Close()
	}
	return f
}

// Describe says what this host is.
func (l *Local) Describe(context.Context) (rig.Facts, error) { return l.facts, nil }

// Drive serves, drives or stops.
func (l *Local) Drive(ctx context.Context, load rig.Load) (metric.Granted, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return metric.Granted{}, fmt.Errorf("%w: it is closed", rig.ErrLost)
	case load.Serve != "":
		if l.server != nil {
			return metric.Granted{}, fmt.Errorf("%w: it serves on %s already", rig.ErrInput, l.server.Addr())
		}
		s, err := engine.Listen(load.Serve)
		if err != nil {
			return metric.Granted{}, err
		}
		l.server = s
		return metric.Granted{}, nil
	case load.Peer == "":
		if l.eng == nil {
			return metric.Granted{}, nil
		}
		return l.eng.Granted(), l.eng.Pause(ctx)
	}
	if err := load.Spec.Validate(); err != nil {
		return metric.Granted{}, fmt.Errorf("%w: %w", rig.ErrInput, err)
	}
	if l.eng == nil {
		e, err := engine.Dial(ctx, load.Peer, l.feed)
		if err != nil {
			return metric.Granted{}, fmt.Errorf("%w: %w", rig.ErrPeer, err)
		}
		l.eng = e
	}
	return l.eng.Drive(ctx, load.Spec)
}

// engine is the running one, or nil.
func (l *Local) engine() *engine.Engine {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.eng
}

// Read returns the kernel's knobs, and the load's where one runs.
func (l *Local) Read(ctx context.Context) ([]knob.State, error) {
	states, err := l.kernel.Read(ctx)
	if err != nil {
		return states, err
	}
	more, err := l.load.Read(ctx)
	return append(states, more...), err
}

// Apply makes the settings in order, each with the tuner that its family belongs to.
func (l *Local) Apply(ctx context.Context, plan knob.Plan) ([]knob.Result, error) {
	var out []knob.Result
	for _, s := range plan {
		t := l.kernel
		if isLoad(s.Knob) {
			t = l.load
		}
		res, err := t.Apply(ctx, knob.Plan{s})
		out = append(out, res...)
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// Undo puts back what was changed in the kernel. The load's own knobs go with the load.
func (l *Local) Undo(ctx context.Context) ([]knob.Result, error) { return l.kernel.Undo(ctx) }

// Watch returns a reader of what is measured here.
func (l *Local) Watch(name string) *metric.Reader { return l.feed.Reader(name, watchDepth) }

// Close ends traffic, undoes, and frees.
func (l *Local) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	eng, server := l.eng, l.server
	l.mu.Unlock()
	var errs []error
	if eng != nil {
		errs = append(errs, eng.Close())
	}
	if server != nil {
		errs = append(errs, server.Close())
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	_, err := l.Undo(ctx)
	errs = append(errs, err, l.free())
	l.feed.Close()
	return errors.Join(errs...)
}

func isLoad(name string) bool {
	return strings.HasPrefix(name, "engine.") || strings.HasPrefix(name, "socket.")
}
