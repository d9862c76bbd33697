package iperf3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

const (
	// holding is how long a connection is kept that no Drive has used: nobody else is served meanwhile.
	holding = time.Second
	// setup bounds each step of beginning a test.
	setup = 10 * time.Second
	// firstAgain and lastAgain are the shortest and the longest wait before a server is tried again. It opens its listener
	// anew between two tests, which takes some milliseconds.
	firstAgain = 2 * time.Millisecond
	lastAgain  = 250 * time.Millisecond
)

// patience is how long a server is tried again that refuses connections, or is busy.
type patience struct{ refused, busy time.Duration }

// held is a connection on which the server waits for parameters.
type held struct {
	mu    sync.Mutex
	ctl   *control
	ck    cookie
	timer *time.Timer
}

// take returns the connection if it is still there.
func (h *held) take() (*control, cookie, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ctl := h.ctl
	h.ctl = nil
	h.timer.Stop()
	return ctl, h.ck, ctl != nil
}

// hold keeps the connection for the first Drive.
func (c *Client) hold(ctl *control, ck cookie) {
	h := &held{ctl: ctl, ck: ck}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(holding, func() {
		if ctl, _, ok := h.take(); ok {
			_ = ctl.conn.Close()
		}
	})
	c.held = h
}

// drop closes what is held.
func (c *Client) drop() {
	if c.held == nil {
		return
	}
	if ctl, _, ok := c.held.take(); ok {
		_ = ctl.conn.Close()
	}
	c.held = nil
}

// reach connects until the server asks for parameters.
func (c *Client) reach(ctx context.Context, p patience) (*control, cookie, error) {
	from, wait := time.Now(), firstAgain
	for {
		ck := newCookie()
		ctl, err := c.greet(ctx, ck)
		if err == nil {
			return ctl, ck, nil
		}
		limit := p.refused
		if errors.Is(err, errDenied) {
			limit = p.busy
		} else if !passing(err) {
			limit = 0
		}
		if time.Since(from)+wait > limit || ctx.Err() != nil {
			return nil, ck, fmt.Errorf("reach %s: %w", c.addr, err)
		}
		select {
		case <-ctx.Done():
			return nil, ck, fmt.Errorf("reach %s: %w", c.addr, err)
		case <-time.After(wait):
		}
		wait = min(2*wait, lastAgain)
	}
}

// passing reports whether err is what a server answers that is between two tests.
func passing(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.EOF)
}

// local reports whether a socket could not be made because this kernel did not take what was asked of it.
func local(err error) bool {
	var no syscall.Errno
	return errors.As(err, &no) && !no.Timeout() && !passing(err)
}

// greet connects once and waits for the server to ask for parameters.
func (c *Client) greet(ctx context.Context, ck cookie) (*control, error) {
	conn, err := c.connect(ctx, c.addr, metric.Socket{})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	ctl := &control{conn: conn}
	_ = conn.SetReadDeadline(time.Now().Add(c.o.Timeout))
	if err = ctl.write(ck[:]); err == nil {
		var st state
		if st, err = readState(conn); err == nil {
			switch st {
			case paramExchange:
				c.peer = peerOf(conn)
				return ctl, nil
			case accessDenied:
				err = errDenied
			default:
				err = fmt.Errorf("it does not answer as an iperf3 server does, but with a byte %d", st)
			}
		}
	}
	_ = conn.Close()
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		err = fmt.Errorf("no answer of an iperf3 server within %v: %w", c.o.Timeout, err)
	}
	return nil, err
}

// connect opens a TCP connection from the bound address with what s asks set before the handshake.
func (c *Client) connect(ctx context.Context, addr string, s metric.Socket) (*net.TCPConn, error) {
	d := net.Dialer{Timeout: c.o.Timeout, KeepAliveConfig: keepAlive, Control: func(_, _ string, rc syscall.RawConn) error {
		var opt error
		err := rc.Control(func(fd uintptr) { opt = flow.ConfigureTCP(int(fd), s) })
		return errors.Join(err, opt)
	}}
	if c.o.Bind.IsValid() {
		d.LocalAddr = &net.TCPAddr{IP: c.o.Bind.AsSlice(), Zone: c.o.Bind.Zone()}
	}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}
