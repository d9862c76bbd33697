package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
)

const (
	// Protocol is the version of the stream. Ends with different ones do not talk.
	Protocol = 1
	// beatEvery is how often each side says that it is there.
	beatEvery = time.Second
	// silence is how long a stream may be without a line before it is lost.
	silence = 5 * time.Second
	// helloWithin is how long a new agent may take to come up, a lab's veth pair included.
	helloWithin = 15 * time.Second
	// maxNoise is how much a login shell may print before the hello, in bytes.
	maxNoise = 64 << 10
)

type hello struct {
	Protocol int       `json:"protocol"`
	Version  string    `json:"version"`
	Facts    rig.Facts `json:"facts"`
}

type beat struct{}

type ask struct {
	ID     uint64          `json:"id"`
	Method string          `json:"method"`
	Args   json.RawMessage `json:"args,omitempty"`
}

type answer struct {
	ID     uint64          `json:"id"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *failure        `json:"error,omitempty"`
}

func (hello) RecordType() string   { return "hello" }
func (beat) RecordType() string    { return "beat" }
func (ask) RecordType() string     { return "ask" }
func (answer) RecordType() string  { return "answer" }
func (failure) RecordType() string { return "fatal" }

// The methods of an ask.
const (
	methodDrive = "drive" // args rig.Load, result metric.Granted
	methodRead  = "read"  // result []knob.State
	methodApply = "apply" // args knob.Plan, result []knob.Result
	methodKeep  = "keep"  // args []string
	methodUndo  = "undo"  // result []knob.Result, also beside an error
)

// failure is an error on the stream: its kind survives, so that errors.Is works across it.
type failure struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

var kinds = []struct {
	name string
	err  error
}{
	{"input", rig.ErrInput},
	{"permission", rig.ErrPermission},
	{"peer", rig.ErrPeer},
	{"lost", rig.ErrLost},
}

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Kind: "failed", Text: err.Error()}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			f.Kind = k.name
		}
	}
	if f.Kind == "failed" && errors.Is(err, os.ErrPermission) {
		f.Kind = "permission"
	}
	return f
}

// remoteError carries the text as it was said there and unwraps to its kind.
type remoteError struct {
	text string
	kind error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.kind }

func (f *failure) err() error {
	if f == nil {
		return nil
	}
	for _, k := range kinds {
		if k.name == f.Kind {
			return &remoteError{f.Text, k.err}
		}
	}
	return errors.New(f.Text)
}

// lineWriter writes whole records from several goroutines.
type lineWriter struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte
}

func (l *lineWriter) write(r metric.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	if l.buf, err = metric.AppendRecord(l.buf[:0], r); err != nil {
		return err
	}
	if len(l.buf) > metric.MaxLine {
		return fmt.Errorf("%w: %s of %d bytes", metric.ErrLine, r.RecordType(), len(l.buf))
	}
	_, err = l.w.Write(l.buf)
	return err
}

// The results that an answer may carry.
type (
	states  = []knob.State
	results = []knob.Result
)
