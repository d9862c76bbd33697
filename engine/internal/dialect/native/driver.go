package native

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// Name is what a [dialect.Session] of this package is called.
const Name = "native"

// tidyTimeout bounds what is still asked of the peer after the caller has given up.
const tidyTimeout = 5 * time.Second

var _ dialect.Session = (*Driver)(nil)

// Driver is the near end that drives traffic: a [Client] with its streams and its probe.
type Driver struct {
	client *Client
	hooks  dialect.Hooks

	mu      sync.Mutex // guards what follows
	spec    metric.Spec
	wanted  bool
	streams []stream
	probe   *flow.Probe
	probeID uint32
	noProbe int // the probe rate that could not be had
}

// stream is one load stream of the running Spec.
type stream struct {
	Opened
	dir metric.Dir
}

// NewDriver connects to a [Server] as [Dial] does, and tells h of what happens.
func NewDriver(ctx context.Context, addr string, o Options, h dialect.Hooks) (*Driver, error) {
	o.Note = h.Note
	c, err := Dial(ctx, addr, o)
	if err != nil {
		return nil, err
	}
	return &Driver{client: c, hooks: h}, nil
}

// Name is the dialect's.
func (d *Driver) Name() string { return Name }

// Drive starts load of spec or re-aims the running one. Rate, calls, congestion control, TCP_NODELAY, type of
// service, streams and direction change in place; for anything else, and for what [metric.Spec.Unpaces], the new streams are
// opened beside the old ones before those are closed, so that on an error the old load goes on.
func (d *Driver) Drive(ctx context.Context, spec metric.Spec, fresh bool) error {
	if fresh {
		if err := d.client.Renew(ctx); err != nil {
			return fmt.Errorf("renew: %w", err)
		}
	} else if err := d.retune(ctx, spec); err != nil {
		return err
	}
	d.mu.Lock()
	p := plan(d.spec, d.streams, spec, fresh)
	d.mu.Unlock()
	opened, err := d.open(ctx, p.missing)
	if err != nil {
		return err
	}
	// From here on the load changes: finish it even if the caller does not wait.
	ctx = context.WithoutCancel(ctx)
	if err := d.swap(ctx, spec, p, opened); err != nil {
		return err
	}
	d.tell(p, spec)
	d.warn(opened)
	d.Echo(ctx, spec.Probe)
	return nil
}

// Pause ends the load. The probe stays. Where the peer is lost there is no load.
func (d *Driver) Pause(ctx context.Context) error {
	d.mu.Lock()
	ids := idsOf(d.streams)
	d.streams, d.wanted = nil, false
	d.mu.Unlock()
	if d.client.Err() != nil || len(ids) == 0 {
		return nil
	}
	err := d.client.CloseStreams(context.WithoutCancel(ctx), ids...)
	d.hooks.Note("load stopped")
	return err
}

// Granted is what the kernels of both ends gave the first stream.
func (d *Driver) Granted() metric.Granted {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := metric.Granted{Dialect: Name}
	if len(d.streams) > 0 {
		s := d.streams[0]
		g.Size, g.Near, g.Far = s.Size, s.Near, s.Far
	}
	return g
}

// State is what there is of the load.
func (d *Driver) State() dialect.State {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := dialect.State{Spec: d.spec, Wanted: d.wanted}
	for _, st := range d.streams {
		s.Out, s.In = s.Out || st.dir == metric.Out, s.In || st.dir == metric.In
	}
	return s
}

// Read is the near end's measurement.
func (d *Driver) Read(h *metric.Hist) flow.Reading { return d.client.Load.Read(h) }

// Far is what came of the far end's measurement.
func (d *Driver) Far() []*dialect.Stats { return d.client.Stats() }

// Probe is a reading of the echo stream.
func (d *Driver) Probe(mono int64) *flow.ProbeReading {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.probe == nil {
		return nil
	}
	return d.probe.Read(mono)
}

// Broken is why a near stream ended by itself.
func (d *Driver) Broken() error { return d.client.Load.Broken() }

// Done is closed when the session has ended.
func (d *Driver) Done() <-chan struct{} { return d.client.Done() }

// Err is why.
func (d *Driver) Err() error { return d.client.Err() }

// Halt ends all that sends.
func (d *Driver) Halt() {
	d.client.Load.Close()
	if p := d.setProbe(nil, 0, 0); p != nil {
		_ = p.Close() // there is nobody left to tell
	}
}

// Close ends the session and its streams.
func (d *Driver) Close() error {
	err := d.client.Close() // first, so that a re-aim that is waiting for the peer gives up
	if p := d.setProbe(nil, 0, 0); p != nil {
		err = errors.Join(err, p.Close())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.streams = nil
	d.client.Load.Close()
	return err
}

// Echo brings the echo stream to perSecond. Load without a probe is still load, so what goes wrong is a note, and not
// tried again until another rate is asked for.
func (d *Driver) Echo(ctx context.Context, perSecond int) {
	d.mu.Lock()
	probe, id, failed := d.probe, d.probeID, d.noProbe
	d.mu.Unlock()
	switch {
	case perSecond == 0 && probe != nil:
		d.setProbe(nil, 0, 0)
		_ = probe.Close()
		_ = d.client.CloseStreams(ctx, id) // where this is lost the far end ends it with the session
	case perSecond == 0 || perSecond == failed:
	case probe != nil:
		_ = probe.SetRate(perSecond) // a running one always takes it
	default:
		p, id, err := d.client.OpenProbe(ctx, perSecond)
		if err != nil {
			d.setProbe(nil, 0, perSecond)
			d.hooks.Note("no probe: %s", strings.TrimPrefix(err.Error(), "open probe: "))
			return
		}
		d.setProbe(p, id, 0)
	}
}

// setProbe keeps p, or the rate at which none could be had, and returns the probe that was.
func (d *Driver) setProbe(p *flow.Probe, id uint32, failed int) *flow.Probe {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.probe
	d.probe, d.probeID, d.noProbe = p, id, failed
	return was
}

// warn says that datagrams do not fit the path: each loses all of itself with any of its fragments.
func (d *Driver) warn(opened []stream) {
	for _, s := range opened {
		if s.Fits > 0 && s.Size > s.Fits {
			d.hooks.Note("datagrams of %d bytes are sent in fragments: the path carries %d whole", s.Size, s.Fits)
			return
		}
	}
}

// tell says what happened. A change of rate alone says nothing: it is a knob, and has its mark.
func (d *Driver) tell(p change, spec metric.Spec) {
	opened, closed := len(p.missing), len(p.surplus)
	switch {
	case p.reopen:
		d.hooks.Note("streams reopened: %s %s", spec.Proto, spec.Mode)
	case opened > 0 && closed > 0:
		d.hooks.Note("direction %s: %s", spec.Mode, plural(len(p.keep)+opened, "stream"))
	case opened > 0:
		d.hooks.Note("%s opened", plural(opened, "stream"))
	case closed > 0:
		d.hooks.Note("%s closed", plural(closed, "stream"))
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
