package rig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/trial"
)

// WatchDepth is how many Frames a reader of a Rig or a Bench may be behind: ten seconds of two directions at 10 Hz.
const WatchDepth = 200

// Bench is the two ends that a front end holds. It routes settings to the end they belong to, numbers the marks, and
// carries one feed in which Frames, Notes, Marks and Verdicts stand in true order. Its methods may be called by any
// goroutine.
type Bench struct {
	Near Rig  // drives the traffic
	Far  Rig  // nil where the peer is not ours to turn
	Host Rig  // the kernel that both ends share; nil where there is none, or it is the near end's own
	Peer Peer // whom the near end drives traffic against

	feed  *metric.Feed
	pumps sync.WaitGroup
	done  chan struct{} // closed when one end is lost or the Bench is closed
	lost  error         // why, good once done is closed
	once  sync.Once

	turning sync.Mutex // one turn at a time, so that marks open and close in order

	mu      sync.Mutex
	judge   trial.Judge
	clock   flowClock
	marks   int
	values  map[knobAt]string // last value read
	turned  []reverse         // newest last
	spec    metric.Spec
	flowing float64 // the last rate that arrived, bit/s of one direction
	grant   metric.Granted
	closed  bool
	left    []knob.Result // what Close put back
}

type knobAt struct {
	side knob.Side
	name string
}

// NewBench makes a Bench of its Rigs, which it owns from then on. far and host may be nil. peer is where the near end
// finds the far one.
func NewBench(near, far, host Rig, peer Peer) *Bench {
	b := &Bench{
		Near: near, Far: far, Host: host, Peer: peer,
		feed: metric.NewFeed(), done: make(chan struct{}), values: make(map[knobAt]string),
	}
	for _, end := range b.ends() {
		b.pumps.Add(1)
		go b.pump(end)
	}
	return b
}

// pump carries the records of one end into the feed. What the far end measures of itself is in the near end's Frames
// already; it is only listened to for its end.
func (b *Bench) pump(e end) {
	defer b.pumps.Done()
	r := e.rig.Watch("bench")
	defer r.Close()
	for {
		rec, err := r.Next(context.Background())
		if err != nil {
			b.once.Do(func() {
				b.lost = fmt.Errorf("%s: %w", e.side, ErrLost)
				close(b.done)
			})
			return
		}
		if e.side == knob.Near {
			b.put(rec)
		}
	}
}

// put hands rec to the readers, and the verdicts that it completes after it.
func (b *Bench) put(rec metric.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f, ok := rec.(*metric.Frame); ok {
		b.clock.saw(time.Now(), f.T)
		if bps, ok := cmp.Or(f.RxBps, f.TxBps).Get(); ok && bps > 0 {
			b.flowing = bps
		}
	}
	b.feed.Put(rec)
	for _, v := range b.judge.Add(rec) {
		b.feed.Put(v)
	}
}

// Watch returns a reader of Frames, Notes, Marks (twice each: opened and closed) and Verdicts. It ends when the Bench is
// closed; [Bench.Done] says when an end is lost. The reader is the caller's to close.
func (b *Bench) Watch(name string) *metric.Reader { return b.feed.Reader(name, WatchDepth) }

// Done is closed when the stream to one end is lost, or the Bench is closed.
func (b *Bench) Done() <-chan struct{} { return b.done }

// Lost says which end was lost, once Done is closed.
func (b *Bench) Lost() error {
	select {
	case <-b.done:
		return b.lost
	default:
		return nil
	}
}

// Now is the time in seconds since traffic flowed, 0 before.
func (b *Bench) Now() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.clock.at(time.Now())
}

// Drive starts the load, or re-aims the running one.
func (b *Bench) Drive(ctx context.Context, spec metric.Spec) (metric.Granted, error) {
	g, err := b.Near.Drive(ctx, Load{Peer: b.Peer, Spec: spec})
	if err != nil {
		return g, err
	}
	b.mu.Lock()
	b.spec, b.grant = spec, g
	b.mu.Unlock()
	return g, nil
}

// Pause stops the load; the probe goes on.
func (b *Bench) Pause(ctx context.Context) error {
	_, err := b.Near.Drive(ctx, Load{})
	return err
}

// ResumeAtHalf lets a load that was paused because nobody saw it flow again, at half the rate it had, with a Mark.
func (b *Bench) ResumeAtHalf(ctx context.Context) error {
	if _, err := b.Read(ctx); err != nil {
		return err
	}
	rate := knob.Setting{Side: knob.Near, Knob: "engine.rate"}
	had, _ := strconv.ParseFloat(b.value(rate), 64)
	if had == 0 { // no limit: what flowed is what it had
		streams, _ := strconv.ParseFloat(b.value(knob.Setting{Side: knob.Near, Knob: "engine.streams"}), 64)
		b.mu.Lock()
		had = b.flowing / max(streams, 1)
		b.mu.Unlock()
	}
	rate.Value = strconv.FormatFloat(max(had/2, 1), 'f', 0, 64)
	_, err := b.Apply(ctx, knob.Plan{rate})
	return err
}

// Spec is the load that was last asked for as a whole; single knobs may have been turned since.
func (b *Bench) Spec() metric.Spec {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spec
}

// Granted is what the last Drive was given.
func (b *Bench) Granted() metric.Granted {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.grant
}

// Read returns the state of every knob of all its Rigs, each with its side. What belongs to the whole host is told by the
// host's own Rig alone, where there is one.
func (b *Bench) Read(ctx context.Context) ([]knob.State, error) {
	var all []knob.State
	for _, end := range b.ends() {
		states, err := end.rig.Read(ctx)
		if err != nil {
			return all, fmt.Errorf("%s: %w", end.side, err)
		}
		for _, s := range states {
			if s.Side == "" {
				s.Side = end.side
			}
			if b.Host != nil && end.side != knob.Host && hostWide(s.Knob) {
				continue
			}
			all = append(all, s)
		}
	}
	b.mu.Lock()
	for _, s := range all {
		b.values[knobAt{s.Side, s.Knob}] = s.Value
	}
	b.mu.Unlock()
	return all, nil
}

type end struct {
	side knob.Side
	rig  Rig
}

func (b *Bench) ends() []end {
	ends := []end{{knob.Near, b.Near}}
	if b.Far != nil {
		ends = append(ends, end{knob.Far, b.Far})
	}
	if b.Host != nil {
		ends = append(ends, end{knob.Host, b.Host})
	}
	return ends
}

// Close undoes at both ends what was turned, ends the traffic and lets go of both Rigs. It returns what was put back,
// each with its side and a group as one: From is the value before, Got the one read again. An error names what could not
// be. A second call returns the same list.
func (b *Bench) Close(ctx context.Context) ([]knob.Result, error) {
	b.turning.Lock()
	defer b.turning.Unlock()
	b.mu.Lock()
	closed := b.closed
	b.closed = true
	b.mu.Unlock()
	if closed {
		return b.left, nil
	}
	var errs []error
	for _, end := range b.ends() {
		back, err := end.rig.Undo(ctx)
		for _, r := range back {
			if r.Side == "" {
				r.Side = end.side
			}
			b.left = append(b.left, r)
		}
		b.left = knob.Fold(b.left)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", end.side, err))
		}
	}
	for _, end := range b.ends() {
		if err := end.rig.Close(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", end.side, err))
		}
	}
	b.pumps.Wait()
	b.feed.Close()
	return b.left, errors.Join(errs...)
}
