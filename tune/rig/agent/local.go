package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
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

// Options says which knobs a Local has and what becomes of them.
type Options struct {
	Version string
	Device  string // the interface whose knobs it has, with those of its network namespace; empty = none
	Netns   bool   // it has the knobs of the network namespace also without an interface
	Host    bool   // it has the knobs of the whole host
	// Journal says where and how long what is turned is written down; nil where it ends with this process's namespace.
	Journal *Journal
}

// Journal is where a Local writes down what it turns.
type Journal struct {
	Dir  string
	Err  error // why there is no Dir
	Kind tune.Kind
}

// Local is this host, in this process and its network namespace.
type Local struct {
	facts  rig.Facts
	feed   *metric.Feed
	kernel *tune.Tuner
	shared bool        // its interface is not the lab's own: what may cut a session is not turned
	load   *tune.Tuner // knobs of the running load; they go with it and are never undone
	addr   *addresses  // of the interface; nil where it has none
	free   func() error

	life  context.Context // until Close
	end   context.CancelFunc
	wards sync.WaitGroup // those who look after an engine

	mu     sync.Mutex
	server *engine.Server
	eng    *engine.Engine
	closed bool
}

// NewLocal makes the Rig of this host in the calling process's network namespace. Where there is to be a journal and none
// can be had, the Rig reads, and refuses to turn anything for that reason.
func NewLocal(o Options) (*Local, error) {
	var families []tune.Family
	var frees []func() error
	add := func(f []tune.Family, free func() error, err error) error {
		families, frees = append(families, f...), append(frees, free)
		return err
	}
	l := &Local{facts: describe(o.Version, o.Device), feed: metric.NewFeed()}
	l.life, l.end = context.WithCancel(context.Background())
	l.free = func() error {
		var errs []error
		for _, f := range slices.Backward(frees) {
			if f != nil {
				errs = append(errs, f())
			}
		}
		return errors.Join(errs...)
	}
	var err error
	if o.Device != "" || o.Netns {
		err = add(tune.Kernel(o.Device))
	}
	if o.Host && err == nil {
		err = add(tune.Host())
	}
	if o.Device != "" && err == nil {
		if l.addr, err = newAddresses(o.Device); err == nil {
			frees = append(frees, func() error { l.addr.nl.Close(); return nil })
		}
	}
	if err != nil {
		l.end()
		return nil, errors.Join(err, l.free())
	}
	if o.Journal == nil {
		l.kernel = tune.New(families...)
	} else {
		var end func() error
		l.kernel, end = journaled(*o.Journal, o.Device, families)
		l.shared = true
		frees = append([]func() error{end}, frees...) // the session ends last, after all was put back
	}
	l.load = tune.New(loadFamilies(l)...)
	return l, nil
}

// journaled is a Tuner that writes down what it finds, and what ends its session.
func journaled(j Journal, dev string, families []tune.Family) (*tune.Tuner, func() error) {
	if j.Err != nil {
		return tune.NewRefusing(j.Err, families...), nil
	}
	book, err := tune.OpenJournal(j.Dir)
	if err != nil {
		return tune.NewRefusing(err, families...), nil
	}
	where, err := tune.Here(dev)
	if err != nil {
		return tune.NewRefusing(err, families...), book.Close
	}
	session, err := book.Begin(j.Kind)
	if err != nil {
		return tune.NewRefusing(err, families...), book.Close
	}
	return tune.NewJournaled(session, where, families...), func() error { return errors.Join(session.Close(), book.Close()) }
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
	case load.Serve != nil:
		return l.serve(*load.Serve)
	case load.Kick != 0:
		if l.server == nil || !l.server.Kick(load.Kick, "the operator of the server ended the session") {
			return metric.Granted{}, fmt.Errorf("%w: there is no guest %d", rig.ErrInput, load.Kick)
		}
		return metric.Granted{}, nil
	case load.Reopen:
		e, err := l.runningLocked(ctx)
		if e == nil {
			return metric.Granted{}, err
		}
		return e.Reopen(ctx)
	case load.Peer.Addr == "":
		if l.eng == nil {
			return metric.Granted{}, nil
		}
		err := l.eng.Pause(ctx)
		return l.eng.Granted(), kindOf(err)
	}
	if err := load.Spec.Validate(); err != nil {
		return metric.Granted{}, fmt.Errorf("%w: %w", rig.ErrInput, err)
	}
	e, err := l.runningLocked(ctx)
	if err != nil {
		return metric.Granted{}, err
	}
	if e == nil {
		if e, err = l.dial(ctx, load.Peer, load.Spec.Proto); err != nil {
			return metric.Granted{}, err
		}
		l.setEngine(e)
	}
	g, err := e.Drive(ctx, load.Spec)
	return g, kindOf(err)
}

// kindOf says whose an error of an engine is: ours to refuse, the peer's, or neither.
func kindOf(err error) error {
	var network net.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, engine.ErrCannot), errors.Is(err, unix.ENOENT): // a congestion control that this kernel does not have
		return fmt.Errorf("%w: %w", rig.ErrInput, err)
	case errors.Is(err, engine.ErrPeer), errors.As(err, &network), errors.Is(err, unix.ECONNREFUSED):
		return fmt.Errorf("%w: %w", rig.ErrPeer, err)
	}
	return err
}

// serve answers peers. The caller holds mu.
func (l *Local) serve(s metric.Serve) (metric.Granted, error) {
	if l.server != nil {
		return metric.Granted{}, fmt.Errorf("%w: it serves on %s already", rig.ErrInput, l.server.Addr())
	}
	srv, err := engine.Listen(s, l.feed)
	if err != nil {
		return metric.Granted{}, fmt.Errorf("%w: %w", rig.ErrPeer, err)
	}
	l.server = srv
	return metric.Granted{Serving: srv.Serving()}, nil
}

// dial reaches the peer.
func (l *Local) dial(ctx context.Context, p rig.Peer, proto metric.Proto) (*engine.Engine, error) {
	e, err := engine.Dial(ctx, p.Addr, engine.Options{Device: l.facts.Device, Dialect: p.Dialect, Bind: p.Bind, Key: p.Key, Proto: proto, Timeout: p.Timeout}, l.feed)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", rig.ErrPeer, err)
	}
	return e, nil
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
	for i := range states {
		if ok, why := l.settable(states[i].Knob); !ok && states[i].Fixed == "" {
			states[i].Fixed = why
		}
	}
	more, err := l.load.Read(ctx)
	return append(states, more...), err
}

// Apply makes the settings in order, each with the tuner that its family belongs to.
func (l *Local) Apply(ctx context.Context, plan knob.Plan) ([]knob.Result, error) {
	var out []knob.Result
	for _, s := range plan {
		if ok, why := l.settable(s.Knob); !ok {
			out = append(out, knob.Result{Setting: s, Outcome: knob.Refused, Reason: why, Denied: true})
			continue
		}
		t := l.kernel
		if knob.OfLoad(s.Knob) {
			t = l.load
		}
		turn := func() ([]knob.Result, error) { return t.Apply(ctx, knob.Plan{s}) }
		if s.Knob == "dev.mtu" && l.addr != nil {
			apply := turn
			turn = func() ([]knob.Result, error) { return l.addr.around(apply) }
		}
		res, err := turn()
		out = append(out, res...)
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// settable says whether the knob may be turned here, and why not.
func (l *Local) settable(name string) (bool, string) {
	if !l.shared {
		return true, ""
	}
	return knob.SettableOutsideLab(name)
}

// Keep lets what was changed in the kernel stay.
func (l *Local) Keep(_ context.Context, knobs []string) error { return l.kernel.Keep(knobs...) }

// Undo puts back what was changed in the kernel. The load's own knobs go with the load.
func (l *Local) Undo(ctx context.Context) ([]knob.Result, error) {
	undo := func() ([]knob.Result, error) { return l.kernel.Undo(ctx) }
	if l.addr == nil {
		return undo()
	}
	return l.addr.around(undo)
}

// Watch returns a reader of what is measured here.
func (l *Local) Watch(name string) *metric.Reader { return l.feed.Reader(name, rig.WatchDepth) }

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
	l.end()
	var errs []error
	if eng != nil {
		errs = append(errs, eng.Close())
	}
	l.wards.Wait()
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
