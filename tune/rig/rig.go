// Package rig is where tuning meets traffic: a [Rig] is one host that can be driven, read and turned, and a [Bench] is
// the two ends (and the host they may share) that a front end holds. What runs over a Bench lives here too.
package rig

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
)

// What went wrong, by what the user can do about it. Errors of a Rig wrap one of these where it applies, also across the
// agent stream.
var (
	ErrInput      = errors.New("bad input")            // ours to refuse; nothing was written
	ErrPermission = errors.New("not permitted")        // needs a capability
	ErrPeer       = errors.New("peer")                 // it is not to be reached, or refused
	ErrLost       = errors.New("stream to agent lost") // the process at the other end is gone or silent
)

// Facts says what a Rig is.
type Facts struct {
	Version string `json:"version"` // of ethtune there
	Host    string `json:"host"`
	Kernel  string `json:"kernel"`
	Device  string `json:"device,omitempty"` // the interface its knobs belong to
	Driver  string `json:"driver,omitempty"`
	PID     int    `json:"pid"`
	CPUs    int    `json:"cpus"`
}

// Load is what a Rig is asked to do with traffic. With nothing in it, it stops.
type Load struct {
	Reopen bool          `json:"reopen,omitempty"` // open the streams of the running load anew
	Serve  *metric.Serve `json:"serve,omitempty"`  // answer peers
	Kick   int           `json:"kick,omitempty"`   // end the session of this guest
	Peer   Peer          `json:"peer,omitzero"`    // drive traffic against this one
	Spec   metric.Spec   `json:"spec,omitzero"`
}

// Peer is whom a Rig drives traffic against.
type Peer struct {
	Addr    string     `json:"addr"`              // host:port; port 0 = the dialect's own, whichever answers
	Dialect string     `json:"dialect,omitempty"` // native, iperf3 or iperf2; empty = what it answers
	Bind    netip.Addr `json:"bind,omitzero"`     // local address of every socket
	Key     []byte     `json:"key,omitempty"`     // secret shared with a native server
	// Timeout bounds how long a connection may take; 0 = 3 s.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Rig is one host. All methods may be called by any goroutine; none draws anything. A method that gets no answer returns
// an error that is [ErrLost].
type Rig interface {
	// Describe says what it is.
	Describe(ctx context.Context) (Facts, error)
	// Drive starts traffic, or re-aims the running one without ending it. What can be changed in place (rate, streams) is;
	// for the rest the load's streams are reopened.
	Drive(ctx context.Context, load Load) (metric.Granted, error)
	// Read returns the state of every knob it has, in the catalogue's order, families together.
	Read(ctx context.Context) ([]knob.State, error)
	// Apply makes the settings in order, one Result each. An error means that nothing could be said about the settings;
	// a kernel that refuses is a Result.
	Apply(ctx context.Context, plan knob.Plan) ([]knob.Result, error)
	// Keep lets the named knobs that were changed through this Rig stay as they are: Undo leaves them, and the journal has
	// them as kept.
	Keep(ctx context.Context, knobs []string) error
	// Undo puts back every setting that was changed through this Rig and is not kept, and says what it did.
	Undo(ctx context.Context) ([]knob.Result, error)
	// Watch returns a reader of what is measured there. The reader is the caller's to close.
	Watch(name string) *metric.Reader
	// Close stops traffic, undoes, and lets go. It may be called twice.
	Close() error
}
