package dialect

import (
	"context"
	"errors"

	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// ErrCannot is what a Session answers that was asked for something its dialect has no words for. The error says what, and
// what else can be done.
var ErrCannot = errors.New("not in this dialect")

// ErrPeer is what a Session answers whose peer did not answer, refused, or is busy. Errors of the network need not wrap it.
var ErrPeer = errors.New("the peer")

// OfPeer marks an error as the peer's doing: it is [ErrPeer] then, and says what it said before.
func OfPeer(err error) error { return ofPeer{err} }

type ofPeer struct{ error }

func (e ofPeer) Unwrap() []error { return []error{ErrPeer, e.error} }

// ErrDismissed is why a Session ended that the server did not want any longer. Nobody is to come back by himself.
var ErrDismissed = errors.New("the server ended the session")

// Hooks are how a Session tells its engine what happens. They may be called by any goroutine, not after Close, and not with
// a lock held that another method of the Session takes.
type Hooks struct {
	Begin func()                           // load is about to flow; called each time, the engine begins to measure at the first
	Note  func(format string, args ...any) // something happened to the traffic that is nobody's turn of a knob
}

// Session is one peer, seen from the near end that drives the traffic. Its methods may be called by any goroutine, Drive,
// Pause and Echo by one at a time.
type Session interface {
	// Name is the dialect's: native, iperf3 or iperf2.
	Name() string
	// Drive starts load of spec or re-aims the running one. What the dialect can change in place goes on without an
	// interruption, unless fresh, by which nothing of the old load is kept. On an error the old load goes on where it can.
	Drive(ctx context.Context, spec metric.Spec, fresh bool) error
	// Pause ends the load.
	Pause(ctx context.Context) error
	// Echo brings the probe to perSecond datagrams a second, 0 ends it. Where there can be none it does nothing.
	Echo(ctx context.Context, perSecond int)
	// Granted is what the first stream was given; empty but for Dialect and Fixed while there is no load.
	Granted() metric.Granted
	// State is what there is of the load.
	State() State
	// Read is the near end's measurement. The jitter of the interval since the last Read goes to h.
	Read(h *metric.Hist) flow.Reading
	// Far is what came of the far end's measurement since it was last called, oldest first.
	Far() []*Stats
	// Probe is a reading of the echo stream at CLOCK_MONOTONIC mono; nil where there is none.
	Probe(mono int64) *flow.ProbeReading
	// Broken is the first error by which a near stream ended itself.
	Broken() error
	// Done is closed when the session has ended; Err then says why. Err is nil before, and after Close.
	Done() <-chan struct{}
	Err() error
	// Halt ends all that sends, of a session that has ended.
	Halt()
	// Close ends the session and its streams. It may be called twice.
	Close() error
}

// State is the load of a Session.
type State struct {
	Spec    metric.Spec // that was last driven; its Proto is empty before
	Wanted  bool        // load was asked for, and not to pause
	Out, In bool        // whether streams of it go that way
}

// Stats is the far end's part of the measurement. Counters are of the whole session.
type Stats struct {
	Mono   int64        `json:"mono"` // CLOCK_MONOTONIC ns there, or of any clock that goes as fast
	Load   flow.Reading `json:"load"`
	Jitter *metric.Hist `json:"jitter,omitempty"` // of its receivers, since the last stats
	// OneJitter says that the estimator in Load is of the time since the last stats, and all that the far end tells of it.
	OneJitter bool    `json:"one_jitter,omitempty"`
	Softnet   *uint64 `json:"softnet,omitempty"` // packets dropped between its devices and its stack, since the session began
	Broken    string  `json:"broken,omitempty"`  // why a stream ended by itself
}
