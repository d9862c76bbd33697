package engine

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/dialect/iperf2"
	"github.com/ethtune/ethtune/engine/internal/dialect/iperf3"
	"github.com/ethtune/ethtune/engine/internal/dialect/native"
	"github.com/ethtune/ethtune/engine/metric"
)

// connectTimeout bounds a connection where the caller names no time.
const connectTimeout = 3 * time.Second

// spoken is a dialect with the port that its servers have where nobody says another.
type spoken struct {
	name string
	port int
	dial func(ctx context.Context, addr string, o Options, p metric.Proto, h dialect.Hooks) (dialect.Session, error)
}

// dialects are tried in this order where nobody says which it is.
var dialects = []spoken{
	{native.Name, 5202, func(ctx context.Context, addr string, o Options, _ metric.Proto, h dialect.Hooks) (dialect.Session, error) {
		ctx, cancel := context.WithTimeout(ctx, o.Timeout)
		defer cancel()
		return native.NewDriver(ctx, addr, native.Options{Bind: o.Bind, Key: o.Key}, h)
	}},
	{iperf3.Name, 5201, func(ctx context.Context, addr string, o Options, _ metric.Proto, h dialect.Hooks) (dialect.Session, error) {
		return iperf3.Dial(ctx, addr, iperf3.Options{Bind: o.Bind, Timeout: o.Timeout}, h)
	}},
	{iperf2.Name, iperf2Port, func(ctx context.Context, addr string, o Options, p metric.Proto, h dialect.Hooks) (dialect.Session, error) {
		return iperf2.Dial(ctx, addr, p, iperf2.Options{Bind: o.Bind, Timeout: o.Timeout}, h)
	}},
}

// open reaches the peer at addr, whose port may be 0, in the dialect that was asked for or that it answers.
func open(ctx context.Context, addr string, o Options, h dialect.Hooks) (dialect.Session, error) {
	if o.Timeout == 0 {
		o.Timeout = connectTimeout
	}
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("port %q: %w", portText, err)
	}
	if o.Dialect == "" && port != 0 {
		if o.Dialect, err = detect(ctx, addr, o); err != nil {
			return nil, err
		}
	}
	var errs []error
	for _, d := range dialects {
		if o.Dialect != "" && o.Dialect != d.name {
			continue
		}
		at := port
		if at == 0 {
			at = d.port
		}
		s, err := d.dial(ctx, net.JoinHostPort(host, strconv.Itoa(at)), o, o.Proto, h)
		if err == nil && len(errs) > 0 {
			s = &guessed{s, errs}
		}
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
		if !unreachable(err) {
			return nil, err // somebody is there, and said no
		}
	}
	if errs == nil {
		return nil, fmt.Errorf("dialect %q: native, iperf3 or iperf2", o.Dialect)
	}
	return nil, errors.Join(errs...)
}

// guessed is a session in a dialect whose turn it was because the others were not there. Whether somebody is may show in
// Drive only, and if not, nobody was anywhere.
type guessed struct {
	dialect.Session
	tried []error
}

// Drive adds to an error of the network where else nobody was.
func (g *guessed) Drive(ctx context.Context, spec metric.Spec, fresh bool) error {
	err := g.Session.Drive(ctx, spec, fresh)
	if err != nil && unreachable(err) {
		return errors.Join(append(g.tried, err)...)
	}
	return err
}

// unreachable reports whether nobody took the connection.
func unreachable(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
