package native

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// Open opens a load stream, idle until Start.
func (c *Client) Open(ctx context.Context, w Want) (Opened, error) {
	o, err := c.open(ctx, w)
	if err != nil {
		return o, fmt.Errorf("open %s stream %s: %w", w.Proto, w.Dir, err)
	}
	return o, nil
}

func (c *Client) open(ctx context.Context, w Want) (Opened, error) {
	o := Opened{ID: c.newID(), Size: w.Size}
	spec := &StreamSpec{ID: o.ID, Proto: w.Proto, Dir: w.Dir, Size: w.Size, Rate: w.Rate, Far: w.Far, Calls: w.FarCalls}
	fd, err := c.socket(w.Proto, w.Near)
	if err != nil {
		return o, fmt.Errorf("near end: %w", err)
	}
	g, err := c.connect(ctx, spec, fd)
	if err == nil {
		o.Far, o.Size = g.Socket, g.Size
		o.Near, err = flow.Granted(fd, w.Proto)
	}
	if err == nil && w.Proto == metric.UDP {
		o.Fits, err = flow.DatagramSize(fd, c.peer)
	}
	if err == nil {
		e := end{fd: fd, id: o.ID, tag: c.token.tag(), proto: w.Proto, size: o.Size, rate: w.Rate, calls: w.NearCalls}
		err = e.join(&c.Load, w.Dir == metric.Out)
	}
	if err != nil {
		c.abandon(ctx, spec.ID, fd)
		return o, err
	}
	return o, nil
}

// abandon lets go of a stream that could not be opened, at both ends.
func (c *Client) abandon(ctx context.Context, id uint32, fd int) {
	_ = unix.Close(fd)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), joinTimeout)
	defer cancel()
	_ = c.CloseStreams(ctx, id) // where this is lost the far end ends it with the session
}

// socket makes the near socket. It is made before anything is asked of the far end, so that what this kernel refuses
// costs nothing there.
func (c *Client) socket(proto metric.Proto, s metric.Socket) (int, error) {
	var local netip.AddrPort
	if c.local.IsValid() {
		local = netip.AddrPortFrom(c.local, 0)
	}
	if proto == metric.TCP {
		return flow.DialTCP(local, c.peer, s, joinTimeout)
	}
	return flow.DialUDP(local, c.peer, s)
}

// connect brings the far end to the near socket fd.
func (c *Client) connect(ctx context.Context, spec *StreamSpec, fd int) (*Grant, error) {
	if spec.Size == 0 && spec.Proto == metric.UDP && spec.Dir == metric.Out {
		size, err := flow.DatagramSize(fd, c.peer)
		if err != nil {
			return nil, err
		}
		spec.Size = size
	}
	if _, err := c.ask(ctx, &line{Type: typeOpen, Stream: spec}); err != nil {
		return nil, err
	}
	hello := preamble{token: c.token, id: spec.ID}.bytes()
	if _, err := unix.Write(fd, hello); err != nil && spec.Proto == metric.TCP {
		return nil, fmt.Errorf("send preamble: %w", err)
	}
	answered := make(chan struct{})
	again := make(chan struct{})
	go func() {
		defer close(again)
		if spec.Proto == metric.TCP {
			return
		}
		tick := time.NewTicker(helloAgain)
		defer tick.Stop()
		for {
			select {
			case <-answered:
				return
			case <-tick.C:
				_, _ = unix.Write(fd, hello) // a lost one is what the next is for
			}
		}
	}()
	a, err := c.ask(ctx, &line{Type: typeJoin, ID: spec.ID})
	close(answered)
	<-again
	if err != nil {
		return nil, err
	}
	if a.Grant == nil || a.Grant.Size < 1 || a.Grant.Size > metric.MaxTCPSize {
		return nil, fmt.Errorf("the far end's answer to join has no size")
	}
	return a.Grant, nil
}

// OpenProbe opens the echo stream and lets it run.
func (c *Client) OpenProbe(ctx context.Context, perSecond int) (*flow.Probe, uint32, error) {
	spec := &StreamSpec{ID: c.newID(), Proto: protoProbe}
	fd, err := c.socket(protoProbe, metric.Socket{})
	if err != nil {
		return nil, 0, fmt.Errorf("open probe: near end: %w", err)
	}
	if _, err = c.connect(ctx, spec, fd); err == nil {
		var p *flow.Probe
		if p, err = flow.NewProbe(fd, spec.ID, c.token.tag(), perSecond); err == nil {
			p.Start()
			return p, spec.ID, nil
		}
	}
	c.abandon(ctx, spec.ID, fd)
	return nil, 0, fmt.Errorf("open probe: %w", err)
}
