package iperf3

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// Name is what a [dialect.Session] of this package is called.
const Name = "iperf3"

// DefaultSegment is how long each of the tests is that measure UDP at the far end.
const DefaultSegment = time.Second

// Options are what a [Client] may be told beside the address. The zero Options are good.
type Options struct {
	Bind    netip.Addr    // local address of every connection; the zero Addr is the kernel's choice
	Timeout time.Duration // of a connect; 0 = 5 s
	// Segment is how long a test takes that is chained to the next, so that the far end tells its numbers. 0 is
	// [DefaultSegment] for UDP that goes out, and no segments for anything else.
	Segment time.Duration
}

// errEnded is what is asked of a Client that has none to ask.
var errEnded = errors.New("the session with the iperf3 server has ended")

// Client is the near end of a session with an iperf3 server. It has a control connection only while load flows: a server
// serves one test at a time, and a silent connection keeps all others out.
type Client struct {
	addr  string
	peer  netip.AddrPort
	o     Options
	hooks dialect.Hooks
	load  flow.Ledger
	alive context.Context // until Close
	kill  context.CancelFunc
	grace context.Context // until [parting] after that: a test that runs is ended properly
	quit  context.CancelFunc
	wg    sync.WaitGroup // receivers that are being finished

	aim  sync.Mutex // who starts and ends tests
	test *test      // that is running, nil where there is none
	key  uint32     // last one given in the ledger
	held *held      // a connection that Dial left for the first Drive

	mu      sync.Mutex // guards what follows
	spec    metric.Spec
	wanted  bool
	flowing bool // load of spec, between two tests of a chain too
	granted metric.Granted
	far     far
	done    chan struct{}
	ended   bool
	closing bool
	err     error
}

var _ dialect.Session = (*Client)(nil)

// Dial reaches the iperf3 server at addr, host:port, and finds it ready. Its answer is kept for a Drive that comes within
// [holding]; without one the connection is closed, which costs a stock server a line in its log and no time.
func Dial(ctx context.Context, addr string, o Options, h dialect.Hooks) (*Client, error) {
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Second
	}
	c := &Client{addr: addr, o: o, hooks: h, done: make(chan struct{})}
	c.grace, c.quit = context.WithCancel(context.Background())
	c.alive, c.kill = context.WithCancel(c.grace)
	ctl, ck, err := c.reach(ctx, patience{refused: 100 * time.Millisecond, busy: 3 * time.Second})
	if err != nil {
		c.quit()
		return nil, err
	}
	c.hold(ctl, ck)
	return c, nil
}

// Name is iperf3.
func (c *Client) Name() string { return Name }

// Granted is what the near kernel gave the first stream. The far end does not tell what it has.
func (c *Client) Granted() metric.Granted {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := metric.Granted{Dialect: Name, Fixed: fixed()}
	if c.flowing {
		g.Size, g.Near = c.granted.Size, c.granted.Near
	}
	return g
}

// State is what there is of the load.
func (c *Client) State() dialect.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := dialect.State{Spec: c.spec, Wanted: c.wanted}
	if c.flowing {
		s.Out, s.In = c.spec.Mode != metric.ModeIn, c.spec.Mode != metric.ModeOut
	}
	return s
}

// Read is the near end's measurement.
func (c *Client) Read(h *metric.Hist) flow.Reading { return c.load.Read(h) }

// Far is what the tests that ended since it was last called told of the far end.
func (c *Client) Far() []*dialect.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.far.take()
}

// Probe is nil: iperf3 has no echo.
func (c *Client) Probe(int64) *flow.ProbeReading { return nil }

// Echo does nothing.
func (c *Client) Echo(context.Context, int) {}

// Broken is the first error by which a near stream ended itself.
func (c *Client) Broken() error { return c.load.Broken() }

// Done is closed when the session has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err is why the session ended by itself; nil before, and after Close.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Halt ends all streams of a session that has ended.
func (c *Client) Halt() { c.load.Close() }

// Close ends the running test as iperf3 does when its time is over, for no longer than [parting], and the session.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.kill() // a Drive that is under way gives up
	late := time.AfterFunc(parting, c.quit)
	defer late.Stop()
	c.aim.Lock()
	if t := c.test; t != nil {
		_ = c.end(t) // a server that did not take its end in time learns it by the end of the connection
	}
	c.quit()
	c.drop()
	c.aim.Unlock()
	c.wg.Wait()
	c.load.Close()
	c.finish(nil)
	return nil
}

// fail ends the session because of err.
func (c *Client) fail(err error) { c.finish(fmt.Errorf("%s: %w", c.addr, err)) }

// finish ends the session, once.
func (c *Client) finish(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flowing = false
	if c.closing {
		err = nil
	}
	if !c.ended {
		c.ended, c.err = true, err
		close(c.done)
	} else if c.closing {
		c.err = nil
	}
}

// note tells the engine what happened to the traffic.
func (c *Client) note(format string, args ...any) {
	c.mu.Lock()
	mute := c.closing || c.hooks.Note == nil
	c.mu.Unlock()
	if !mute {
		c.hooks.Note(format, args...)
	}
}

// peerOf is the address of the other end.
func peerOf(conn net.Conn) netip.AddrPort {
	a := conn.RemoteAddr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
}
