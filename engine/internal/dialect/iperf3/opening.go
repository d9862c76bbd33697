package iperf3

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// Times of the greeting of a UDP stream.
const (
	// helloAgain is when a hello without an answer is sent once more. Not sooner: a second one that arrives is taken for a
	// datagram of the test by every stock server, and shows as loss.
	helloAgain = 2 * time.Second
	// helloRefused is when it is sent once more where the port was closed, so that it cannot have arrived.
	helloRefused = 20 * time.Millisecond
	// look is how often a wait for the answer looks whether it is still wanted.
	look = 100 * time.Millisecond
)

// hello and reply are the first words on a UDP stream, as 3.12 and later write them; a server that replies with oldReply
// is older or of another byte order.
const (
	hello = "9876"
	reply = "6789"
)

// oldReplies are what servers up to 3.11 answer, in either byte order, and some of 3.12 to 3.16 on big-endian hosts.
var oldReplies = []string{hello, "\xb1\x68\xde\x3a", "\x3a\xde\x68\xb1"}

// isReply reports whether b is a server's answer to a hello.
func isReply(b []byte) bool {
	for _, r := range oldReplies {
		if string(b) == r {
			return true
		}
	}
	return string(b) == reply
}

// size is how many bytes a write or a datagram has.
func (c *Client) size(spec metric.Spec) (int, error) {
	switch {
	case spec.Size != 0:
		return spec.Size, nil
	case spec.Proto == metric.TCP:
		return flow.DefaultTCPSize, nil
	}
	fd, err := c.dialUDP(metric.Socket{})
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	return flow.DatagramSize(fd, c.peer)
}

// dialUDP opens a UDP socket connected with the server.
func (c *Client) dialUDP(s metric.Socket) (int, error) {
	var local netip.AddrPort
	if c.o.Bind.IsValid() {
		local = netip.AddrPortFrom(c.o.Bind, 0)
	}
	return flow.DialUDP(local, c.peer, s)
}

// openStreams opens the streams one after the other, idle. The server counts them in the order in which they come.
func (c *Client) openStreams(ctx context.Context, t *test) error {
	p := newParams(t.spec, t.size)
	cfg := config{proto: t.spec.Proto, size: t.size, header: header64, rate: t.spec.RateBps, calls: t.spec.NearCalls}
	for i, dir := range p.dirs() {
		fd, err := c.openSocket(ctx, t)
		if err != nil {
			return fmt.Errorf("open %s stream %d: %w", t.spec.Proto, streamID(i), err)
		}
		c.key++
		s, err := newStream(&c.load, fd, c.key, streamID(i), dir == metric.Out, cfg)
		if err != nil {
			_ = unix.Close(fd)
			return err
		}
		t.streams = append(t.streams, s)
	}
	return nil
}

// openSocket connects one stream and greets the server on it.
func (c *Client) openSocket(ctx context.Context, t *test) (int, error) {
	if t.spec.Proto == metric.UDP {
		fd, err := c.dialUDP(t.spec.Near)
		if err != nil {
			return -1, err
		}
		if err := c.greetUDP(ctx, fd); err != nil {
			_ = unix.Close(fd)
			return -1, err
		}
		return fd, nil
	}
	conn, err := c.connect(ctx, c.peer.String(), t.spec.Near)
	if err != nil {
		return -1, err
	}
	_ = conn.SetWriteDeadline(time.Now().Add(saying))
	if _, err := conn.Write(t.cookie[:]); err != nil {
		_ = conn.Close()
		return -1, err
	}
	fd, err := flow.Detach(conn)
	if err == nil && t.spec.Near.NoDelay { // which Detach undoes
		if err = flow.ConfigureTCP(fd, metric.Socket{NoDelay: true}); err != nil {
			_ = unix.Close(fd)
		}
	}
	return fd, err
}

// greetUDP says hello and waits for the answer.
func (c *Client) greetUDP(ctx context.Context, fd int) error {
	var b [len(reply) + 1]byte
	until, again := time.Now().Add(setup), time.Now()
	for said := 0; time.Now().Before(until); {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !time.Now().Before(again) {
			if said++; said > 1 {
				c.note("the iperf3 server did not answer on UDP port %d; it is greeted once more", c.peer.Port())
			}
			again = time.Now().Add(helloAgain)
			if _, err := unix.Write(fd, []byte(hello)); errors.Is(err, unix.ECONNREFUSED) {
				again = time.Now().Add(helloRefused)
			}
		}
		wait := min(look, max(time.Until(again), time.Millisecond))
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, int(wait.Milliseconds())); err != nil && err != unix.EINTR {
			return os.NewSyscallError("poll", err)
		} else if n == 0 || err != nil {
			continue
		}
		n, err := unix.Read(fd, b[:])
		if errors.Is(err, unix.ECONNREFUSED) {
			again, said = time.Now().Add(helloRefused), 0
		}
		if err == nil && isReply(b[:n]) {
			return nil
		}
	}
	return fmt.Errorf("no answer on UDP port %d of %s within %v; does a firewall let UDP through", c.peer.Port(), c.peer.Addr(), setup)
}

// asked is a descriptor of the first stream to ask the kernel about. It is good until the stream ends.
func (t *test) asked() int { return t.streams[0].fd }
