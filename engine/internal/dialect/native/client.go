package native

import (
	"context"
	"crypto/hmac"
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

// ErrEnded is what requests of a client answer whose control connection is gone.
var ErrEnded = errors.New("control connection lost")

// Client is the near end of a session. Its methods may be called by any goroutine.
type Client struct {
	ctl   *control
	note  func(format string, args ...any) // may be nil
	peer  netip.AddrPort
	local netip.Addr // zero where it is the kernel's choice
	token token

	// Load is the near end of every stream.
	Load flow.Ledger

	mu      sync.Mutex
	waits   map[uint64]chan *line
	nextN   uint64
	nextID  uint32
	stats   []*dialect.Stats // arrived since Stats was last called
	done    chan struct{}
	err     error
	wg      sync.WaitGroup
	closing bool
	kicked  string    // what the server said when it ended the session
	heard   time.Time // when the far end last said anything
	quiet   bool      // it has not for quietAfter
}

// quietAfter is how long the far end may say nothing before that is told. It is less than what ends the session, by which
// time the cable may be plugged in again.
const quietAfter = 2 * time.Second

// Options is how a client reaches its server. The zero Options will do.
type Options struct {
	Bind netip.Addr // local address of every socket; the zero Addr leaves it to the kernel
	Key  []byte     // secret shared with the server; empty = none
	// Note, if set, is told of a far end that is silent, and that it is no more.
	Note func(format string, args ...any)
}

// Dial connects to a [Server] at addr, host:port.
func Dial(ctx context.Context, addr string, o Options) (*Client, error) {
	ctx, cancel := context.WithTimeout(ctx, greetTimeout)
	defer cancel()
	var d net.Dialer
	if o.Bind.IsValid() {
		d.LocalAddr = &net.TCPAddr{IP: o.Bind.AsSlice(), Zone: o.Bind.Zone()}
	}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w", addr, err)
	}
	c := &Client{
		ctl:   newControl(conn, conn, farSilence),
		local: o.Bind,
		waits: make(map[uint64]chan *line),
		done:  make(chan struct{}),
		note:  o.Note,
	}
	remote := conn.RemoteAddr().(*net.TCPAddr).AddrPort()
	c.peer = netip.AddrPortFrom(remote.Addr().Unmap(), remote.Port())
	if err := c.greet(o.Key); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("talk to %s: %w", addr, err)
	}
	c.heard = time.Now()
	c.wg.Go(c.read)
	c.wg.Go(c.beat)
	return c, nil
}

// Who is the question what a server speaks, to which one of ours answers with a line, and no session. To an iperf3 server it
// is a whole cookie.
func Who() []byte {
	b, err := (&line{Type: typeWho, Proto: dialectName, V: Version, Nonce: newNonce()}).encode()
	if err != nil {
		panic(err) // strings and a number always have a JSON form
	}
	return b
}

// greet exchanges hellos, and proofs where there is a key: a server that does not have it is not the one that was meant.
func (c *Client) greet(key []byte) error {
	nonce := newNonce()
	if err := c.ctl.send(&line{Type: typeHello, Proto: dialectName, V: Version, Nonce: nonce}); err != nil {
		return err
	}
	l, err := c.ctl.receive()
	if err != nil {
		return fmt.Errorf("it does not answer as ethtune serve does: %w", err)
	}
	want := ""
	if l.Type == typeAsk {
		if l, want, err = c.answer(l, nonce, key); err != nil {
			return err
		}
	}
	if l.Type == typeRefused {
		return errors.New(l.Error)
	}
	if err := l.checkHello(); err != nil {
		return err
	}
	switch {
	case len(key) > 0 && want == "":
		return errors.New("the server asks for no key, and so did not prove that it has this one: leave --key-file out to trust it")
	case !hmac.Equal([]byte(l.Proof), []byte(want)):
		return errKey
	}
	c.token, err = l.token()
	return err
}

// Done is closed when the session has ended; Err then says why.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err is why the session ended by itself; nil before, and after Close.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// parting is how long Close waits for the server to let go of the session.
const parting = time.Second

// Close ends the session and its streams. It reads what the server still says, since to close a socket with unread bytes in it
// is a reset, which at the other end is a fault and no end.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	if half, ok := c.ctl.conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		c.Load.Close()
		select {
		case <-c.done:
		case <-time.After(parting):
		}
	}
	err := c.ctl.conn.Close()
	c.wg.Wait()
	c.Load.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil // the reader closed it first
	}
	return err
}

// read hands answers to those who wait for them, and keeps stats.
func (c *Client) read() {
	defer close(c.done)
	defer c.ctl.conn.Close()
	for {
		l, err := c.ctl.receive()
		c.mu.Lock()
		if err != nil {
			switch {
			case c.closing:
			case c.kicked != "":
				c.err = fmt.Errorf("%w: %s", dialect.ErrDismissed, c.kicked)
			default:
				c.err = fmt.Errorf("%w: %s: %w", ErrEnded, c.peer, err)
			}
			c.mu.Unlock()
			return
		}
		c.heard = time.Now()
		switch l.Type {
		case typeStats:
			if l.Stats != nil {
				if len(c.stats) == maxStats {
					c.stats = append(c.stats[:0], c.stats[1:]...)
				}
				c.stats = append(c.stats, l.Stats)
			}
		case typeDone, typeRefused:
			if l.N == 0 {
				c.kicked = l.Error
			}
			if w := c.waits[l.N]; w != nil {
				delete(c.waits, l.N)
				w <- l
			}
		}
		c.mu.Unlock()
	}
}

// maxStats bounds what is kept for a reader that does not come.
const maxStats = 50

// Stats are those that arrived since it was last called, oldest first.
func (c *Client) Stats() []*dialect.Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	c.stats = nil
	return s
}

func (c *Client) beat() {
	tick := time.NewTicker(beat)
	defer tick.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-tick.C:
			c.mu.Lock()
			closing := c.closing
			c.mu.Unlock()
			if closing {
				return
			}
			if c.ctl.send(&line{Type: typeBeat}) != nil {
				_ = c.ctl.conn.Close()
			}
			c.listen()
		}
	}
}

// listen tells of a far end that has fallen silent, and that it is heard again.
func (c *Client) listen() {
	c.mu.Lock()
	quiet := time.Since(c.heard) > quietAfter
	turned := quiet != c.quiet
	c.quiet = quiet
	c.mu.Unlock()
	switch {
	case !turned || c.note == nil:
	case quiet:
		c.note("no word from the far end for %v", quietAfter)
	default:
		c.note("the far end is heard again")
	}
}

// ask sends a request and waits for its answer.
func (c *Client) ask(ctx context.Context, l *line) (*line, error) {
	w := make(chan *line, 1)
	c.mu.Lock()
	c.nextN++
	l.N = c.nextN
	c.waits[l.N] = w
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waits, l.N)
	}()
	if err := c.ctl.send(l); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEnded, err)
	}
	select {
	case a := <-w:
		if a.Type == typeRefused {
			return nil, fmt.Errorf("far end: %s", a.Error)
		}
		return a, nil
	case <-c.done:
		if err := c.Err(); err != nil {
			return nil, err
		}
		return nil, ErrEnded
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Start lets every opened stream run, the receivers' ends first.
func (c *Client) Start(ctx context.Context) error {
	if _, err := c.ask(ctx, &line{Type: typeStart}); err != nil {
		return err
	}
	c.Load.Start()
	return nil
}

// Renew lets the streams that are opened from now on begin with the buffers that the far kernel gives now.
func (c *Client) Renew(ctx context.Context) error {
	_, err := c.ask(ctx, &line{Type: typeRenew})
	return err
}

// Aim gives every running stream the rate in bit/s of payload, and the calls of its end.
func (c *Client) Aim(ctx context.Context, bps int64, near, far metric.Calls) error {
	_, err := c.ask(ctx, &line{Type: typeAim, Rate: bps, Calls: &far})
	if local := c.Load.Aim(bps, near); local != nil {
		err = errors.Join(err, fmt.Errorf("near end: %w", local))
	}
	return err
}

// Tune gives the sockets of every running stream what they take of near and far, and returns what both kernels then say, by
// the stream's id. Where the far end refuses nothing is changed at the near end.
func (c *Client) Tune(ctx context.Context, near, far metric.Socket) (atNear, atFar map[uint32]metric.GrantedSocket, err error) {
	a, err := c.ask(ctx, &line{Type: typeTune, Socket: &far})
	if err != nil {
		return nil, nil, err
	}
	if atNear, err = c.Load.Tune(near); err != nil {
		return nil, nil, fmt.Errorf("near end: %w", err)
	}
	return atNear, a.Grants, nil
}

// CloseStreams ends streams: senders first, so that receivers know how much was sent. Streams that are not wholly there,
// at either end, are taken back.
func (c *Client) CloseStreams(ctx context.Context, ids ...uint32) error {
	if len(ids) == 0 {
		return nil
	}
	l := &line{Type: typeClose, Close: make([]closing, len(ids))}
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() {
			tx, _ := c.Load.CloseSender(id)
			l.Close[i] = closing{ID: id, Sent: tx.Packets}
		})
	}
	wg.Wait()
	a, err := c.ask(ctx, l)
	sent := make(map[uint32]uint64)
	if err == nil {
		for _, s := range a.Close {
			sent[s.ID] = s.Sent
		}
	}
	for _, id := range ids {
		wg.Go(func() { c.Load.FinishReceiver(id, sent[id]) })
	}
	wg.Wait()
	return err
}

// newID is a stream id that this session has not used.
func (c *Client) newID() uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nextID++
	return c.nextID
}

// Want is one load stream to be opened.
type Want struct {
	Proto metric.Proto
	Dir   metric.Dir
	Size  int
	Rate  int64
	Near  metric.Socket
	Far   metric.Socket

	NearCalls metric.Calls
	FarCalls  metric.Calls
}

// Opened is a stream that is there and idle.
type Opened struct {
	ID   uint32
	Size int
	Fits int // UDP: the largest datagram that the path carries whole, as the near kernel has it
	Near metric.GrantedSocket
	Far  metric.GrantedSocket
}
