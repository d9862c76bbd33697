package iperf2

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// Name is the dialect's.
const Name = "iperf2"

// How long a UDP stream lasts before the next takes its place. A stock server prints a line for each. It sends what it
// was asked for to its end, wanted or not, and for the time of an overlap beside the next.
const (
	DefaultSegment   = 2 * time.Second // out: how often there is a report
	defaultSegmentIn = 5 * time.Second
)

// Bounds of [Options].
const (
	defaultTimeout = 5 * time.Second
	minSegment     = 300 * time.Millisecond
	maxSegment     = time.Hour
)

// Options are how a server is reached. The zero Options are good.
type Options struct {
	Bind    netip.Addr    // the local address; the zero Addr is the kernel's choice
	Timeout time.Duration // of connect(2), and of what is asked of the resolver; 0 = 5 s
	Segment time.Duration // of UDP streams, at least 0.3 s; 0 = [DefaultSegment], and more for what comes in
}

var _ dialect.Session = (*Client)(nil)

// Client is the near end of one server. It keeps no connection while there is no load.
type Client struct {
	proto metric.Proto
	name  string // of the server, as it was given
	o     Options
	hooks dialect.Hooks
	load  flow.Ledger
	far   tally

	ctx    context.Context // ends with the session
	cancel context.CancelFunc
	wg     sync.WaitGroup

	turn    sync.Mutex     // held by whoever changes the load
	parting sync.WaitGroup // streams that others took the place of; guarded by turn
	rested  time.Time      // when the last stream ended; guarded by turn
	silent  int            // how often in a row a UDP server did not send when it was asked to; guarded by turn

	mu      sync.Mutex // guards what follows
	peers   []netip.AddrPort
	spec    metric.Spec
	wanted  bool
	streams []*stream
	lastID  uint32
	stop    func() // ends the chain of segments; nil where there is none
	ended   bool
	err     error
	done    chan struct{}
}

// Dial is a session with the server at addr, host:port, which is of proto: `iperf -s` receives TCP only, `iperf -s -u` UDP
// only. A stock server takes every connection for a test, so nothing is sent before load is driven, and that something
// is there is found out then.
func Dial(ctx context.Context, addr string, proto metric.Proto, o Options, h dialect.Hooks) (*Client, error) {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Segment != 0 {
		o.Segment = min(max(o.Segment, minSegment), maxSegment).Round(amountUnit)
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	peers, err := resolve(ctx, addr, o.Bind)
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w", addr, err)
	}
	c := &Client{proto: proto, name: addr, o: o, hooks: h, peers: peers, done: make(chan struct{})}
	c.far = tally{note: h.Note, fail: c.fail, first: 1}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// segment is how long a UDP stream of mode lasts.
func (c *Client) segment(mode metric.Mode) time.Duration {
	switch {
	case c.o.Segment > 0:
		return c.o.Segment
	case mode == metric.ModeIn:
		return defaultSegmentIn
	}
	return DefaultSegment
}

// resolve is what addr may mean, of the family of local where there is one.
func resolve(ctx context.Context, addr string, local netip.Addr) ([]netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port %q: a number up to 65535", service)
	}
	ip, err := netip.ParseAddr(host)
	ips := []netip.Addr{ip}
	if err != nil { // the resolver would answer an address with itself, and forget its zone
		if ips, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host); err != nil {
			return nil, err
		}
	}
	var peers []netip.AddrPort
	for _, ip := range ips {
		ip = ip.Unmap()
		if !local.IsValid() || local.Unmap().Is4() == ip.Is4() {
			peers = append(peers, netip.AddrPortFrom(ip, uint16(port)))
		}
	}
	if len(peers) == 0 {
		return nil, fmt.Errorf("it has no address of the family of %s", local)
	}
	return peers, nil
}

// Name is the dialect's.
func (c *Client) Name() string { return Name }

// Echo does nothing: iperf 2 has no echo.
func (c *Client) Echo(context.Context, int) {}

// Probe is nil.
func (c *Client) Probe(int64) *flow.ProbeReading { return nil }

// State is what there is of the load.
func (c *Client) State() dialect.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := dialect.State{Spec: c.spec, Wanted: c.wanted}
	if len(c.streams) > 0 {
		s.Out, s.In = c.spec.Mode != metric.ModeIn, c.spec.Mode != metric.ModeOut
	}
	return s
}

// Granted is what this kernel gave the first stream. Of the far end's nothing is known.
func (c *Client) Granted() metric.Granted {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := metric.Granted{Dialect: Name, Fixed: fixed(c.proto)}
	if len(c.streams) > 0 {
		g.Size, g.Near = c.streams[0].size, c.streams[0].granted
	}
	return g
}

// Read is the near end's measurement.
func (c *Client) Read(h *metric.Hist) flow.Reading { return c.load.Read(h) }

// Far is what the reports of UDP segments say. TCP has none.
func (c *Client) Far() []*dialect.Stats { return c.far.take() }

// Broken is the first error by which a near stream ended itself.
func (c *Client) Broken() error { return c.load.Broken() }

// Done is closed when the session has ended.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err is why; nil before, and after Close.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// fail ends the session for err.
func (c *Client) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	c.ended, c.err = true, fmt.Errorf("iperf server %s: %w", c.name, err)
	c.cancel()
	close(c.done)
}

// failed is why nothing can be driven.
func (c *Client) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return c.err
	case c.ended:
		return errors.New("the session is closed")
	}
	return nil
}

// Pause ends the load. That nobody is there at all may only show now: a short load of UDP that goes out hears of nobody
// before its report is due.
func (c *Client) Pause(context.Context) error {
	c.turn.Lock()
	defer c.turn.Unlock()
	lost := c.failed() != nil
	if c.rest() {
		c.hooks.Note("load stopped")
	}
	if lost {
		return nil
	}
	return c.failed()
}

// rest ends all streams, and reports whether there were any. The caller holds turn.
func (c *Client) rest() bool {
	c.mu.Lock()
	old, stop := c.streams, c.stop
	c.streams, c.stop, c.wanted = nil, nil, false
	c.mu.Unlock()
	if stop != nil {
		stop()
	}
	c.halt(old)
	c.part(old)
	c.parting.Wait()
	c.rested = time.Now()
	return len(old) > 0
}

// Halt ends all that sends, of a session that has ended. It does not wait for a server to answer.
func (c *Client) Halt() {
	c.mu.Lock()
	streams := c.streams
	c.mu.Unlock()
	c.halt(streams)
}

// Close ends the session and its streams as a stock server likes it best, within some seconds.
func (c *Client) Close() error {
	c.cancel()
	c.turn.Lock()
	if c.rest() && c.proto == metric.UDP && c.failed() == nil {
		// Whoever comes next from this host knows nothing of what a server needs to live on.
		<-time.After(settle - time.Since(c.rested))
	}
	c.mu.Lock()
	if !c.ended {
		c.ended = true
		close(c.done)
	}
	c.err = nil
	c.mu.Unlock()
	c.turn.Unlock()
	c.wg.Wait()
	c.load.Close()
	return nil
}
