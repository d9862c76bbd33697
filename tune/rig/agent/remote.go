package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
)

var _ rig.Rig = (*Remote)(nil)

// Remote is the Rig at the other end of a stream.
type Remote struct {
	stream io.ReadWriteCloser
	w      *lineWriter
	lines  *metric.LineReader
	facts  rig.Facts
	feed   *metric.Feed
	heard  chan struct{}
	gone   chan struct{} // closed when the stream is over
	once   sync.Once
	why    error // good once gone is closed

	mu   sync.Mutex
	next uint64
	open map[uint64]chan answer
}

// Dial waits for the agent's hello on the stream and returns its Rig, which owns the stream from then on. It skips up to
// 64 KiB that is no record, as a login shell prints. On an error the stream is closed.
func Dial(ctx context.Context, stream io.ReadWriteCloser) (*Remote, error) {
	r := &Remote{
		stream: stream, w: &lineWriter{w: stream}, lines: metric.NewLineReader(stream), feed: metric.NewFeed(),
		heard: make(chan struct{}, 1), gone: make(chan struct{}), open: make(map[uint64]chan answer),
	}
	ctx, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	got := make(chan error, 1)
	go func() { got <- r.readHello() }()
	select {
	case err := <-got:
		if err != nil {
			stream.Close()
			return nil, err
		}
	case <-ctx.Done():
		stream.Close()
		return nil, fmt.Errorf("%w: no hello: %w", rig.ErrLost, ctx.Err())
	}
	go func() { r.lose(r.receive()) }()
	go r.beat()
	return r, nil
}

func (r *Remote) readHello() error {
	noise := 0
	for {
		typ, line, err := r.lines.Next()
		if errors.Is(err, metric.ErrLine) && line != nil {
			// A prompt without a line end may stand before the hello.
			if i := bytes.Index(line, []byte(`{"type":"hello"`)); i > 0 {
				typ, line, err = "hello", line[i:], nil
			}
		}
		switch {
		case errors.Is(err, metric.ErrLine) && line != nil:
			if noise += len(line); noise > maxNoise {
				return fmt.Errorf("%w: %d bytes and no hello; is that ethtune?", rig.ErrLost, noise)
			}
			continue
		case err != nil:
			return fmt.Errorf("%w: it ended before its hello: %w", rig.ErrLost, err)
		case typ == "fatal":
			var f failure
			if err := json.Unmarshal(line, &f); err != nil {
				return fmt.Errorf("%w: %.80q", rig.ErrLost, line)
			}
			return f.err()
		case typ != "hello":
			continue
		}
		var h hello
		if err := json.Unmarshal(line, &h); err != nil {
			return fmt.Errorf("%w: bad hello: %w", rig.ErrLost, err)
		}
		if h.Protocol != Protocol {
			return fmt.Errorf("%w: the agent (ethtune %s) speaks protocol %d, this is %d: use the same version at both ends",
				rig.ErrLost, h.Version, h.Protocol, Protocol)
		}
		r.facts = h.Facts
		return nil
	}
}

// receive reads until the stream ends.
func (r *Remote) receive() error {
	for {
		typ, line, err := r.lines.Next()
		if err != nil {
			return err
		}
		select {
		case r.heard <- struct{}{}:
		default:
		}
		if typ == "answer" {
			var a answer
			if err := json.Unmarshal(line, &a); err != nil {
				return fmt.Errorf("%w: answer: %w", metric.ErrLine, err)
			}
			r.mu.Lock()
			ch := r.open[a.ID]
			delete(r.open, a.ID)
			r.mu.Unlock()
			if ch != nil {
				ch <- a
			}
			continue
		}
		rec, err := metric.Parse(typ, line)
		if err != nil {
			return err
		}
		if rec != nil {
			r.feed.Put(rec)
		}
	}
}

// beat sends ours and watches for theirs.
func (r *Remote) beat() {
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-r.gone; cancel() }()
	go keepBeating(ctx, r.w)
	if err := untilSilent(ctx, r.heard); err != nil {
		r.lose(err)
	}
}

// lose ends the stream: every open call is answered, readers get their end.
func (r *Remote) lose(why error) {
	r.once.Do(func() {
		r.why = why
		close(r.gone)
		r.stream.Close()
		r.feed.Close()
	})
}

func (r *Remote) lostErr() error {
	if errors.Is(r.why, rig.ErrLost) {
		return r.why
	}
	if r.why == nil || errors.Is(r.why, io.EOF) {
		return rig.ErrLost
	}
	return fmt.Errorf("%w: %w", rig.ErrLost, r.why)
}

// call asks and waits for the answer. The result is decoded also where there is an error.
func call[T any](ctx context.Context, r *Remote, method string, args any) (T, error) {
	var out T
	a := ask{Method: method}
	if args != nil {
		b, err := json.Marshal(args)
		if err != nil {
			return out, err
		}
		a.Args = b
	}
	ch := make(chan answer, 1)
	r.mu.Lock()
	r.next++
	a.ID = r.next
	r.open[a.ID] = ch
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		delete(r.open, a.ID)
		r.mu.Unlock()
	}()
	sent := make(chan error, 1)
	go func() { sent <- r.w.write(a) }() // a stuck stream must not hold the caller beyond its context
	for {
		select {
		case err := <-sent:
			if err != nil {
				return out, fmt.Errorf("%w: %w", rig.ErrLost, err)
			}
			sent = nil
		case ans := <-ch:
			if len(ans.Result) > 0 {
				if err := json.Unmarshal(ans.Result, &out); err != nil {
					return out, fmt.Errorf("%w: %s: %w", metric.ErrLine, method, err)
				}
			}
			return out, ans.Error.err()
		case <-r.gone:
			return out, r.lostErr()
		case <-ctx.Done():
			return out, ctx.Err()
		}
	}
}

// Describe says what the other end's hello said.
func (r *Remote) Describe(context.Context) (rig.Facts, error) { return r.facts, nil }

// Drive starts or re-aims traffic there.
func (r *Remote) Drive(ctx context.Context, load rig.Load) (metric.Granted, error) {
	return call[metric.Granted](ctx, r, methodDrive, load)
}

// Read returns the state of every knob there.
func (r *Remote) Read(ctx context.Context) ([]knob.State, error) {
	return call[states](ctx, r, methodRead, nil)
}

// Apply makes the settings there.
func (r *Remote) Apply(ctx context.Context, plan knob.Plan) ([]knob.Result, error) {
	return call[results](ctx, r, methodApply, plan)
}

// Keep lets the named knobs stay as they are there.
func (r *Remote) Keep(ctx context.Context, knobs []string) error {
	_, err := call[struct{}](ctx, r, methodKeep, knobs)
	return err
}

// Undo puts back there.
func (r *Remote) Undo(ctx context.Context) ([]knob.Result, error) {
	return call[results](ctx, r, methodUndo, nil)
}

// Watch returns a reader of what is measured there. It ends when the stream does.
func (r *Remote) Watch(name string) *metric.Reader { return r.feed.Reader(name, rig.WatchDepth) }

// Close closes the stream, upon which the agent undoes and ends.
func (r *Remote) Close() error {
	r.lose(nil)
	return nil
}

// Gone is closed when the stream is over.
func (r *Remote) Gone() <-chan struct{} { return r.gone }

// closeWithin is how long a Rig may take to undo when its stream ends.
const closeWithin = 3 * time.Second
