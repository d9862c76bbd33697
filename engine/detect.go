package engine

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/ethtune/ethtune/engine/internal/dialect/iperf2"
	"github.com/ethtune/ethtune/engine/internal/dialect/iperf3"
	"github.com/ethtune/ethtune/engine/internal/dialect/native"
)

// iperf2Port is where an iperf -s is not asked: it would take the question for data of a client. An iperf -s -u takes no
// connection at all.
const iperf2Port = 5001

// detect finds out what the server at addr speaks by asking in our own dialect and looking at the first byte of
// the answer. To an iperf3 server the question is a cookie, of which it never has enough while nothing comes (older ones wait
// for ever): so it is sent at once, and the connection closed after the answer, which such a server takes for a client that
// thought better of it. An iperf server says nothing.
func detect(ctx context.Context, addr string, o Options) (string, error) {
	if _, port, err := net.SplitHostPort(addr); err == nil && port == strconv.Itoa(iperf2Port) {
		return iperf2.Name, nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	d := net.Dialer{}
	if o.Bind.IsValid() {
		d.LocalAddr = &net.TCPAddr{IP: o.Bind.AsSlice(), Zone: o.Bind.Zone()}
	}
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return "", fmt.Errorf("reach %s: %w", addr, err)
	}
	defer c.Close()
	deadline, _ := ctx.Deadline()
	_ = c.SetDeadline(deadline)
	if _, err := c.Write(native.Who()); err != nil {
		return "", fmt.Errorf("ask %s what it speaks: %w", addr, err)
	}
	first := make([]byte, 1)
	if _, err := c.Read(first); err != nil {
		return "", fmt.Errorf("%s does not answer as ethtune serve or iperf3 -s does; for an iperf -s say --dialect iperf2", addr)
	}
	return dialectOf(first[0], addr)
}

// dialectOf is who begins its answer so. iperf3 says PARAM_EXCHANGE (9), ACCESS_DENIED (-1) or SERVER_ERROR (-2).
func dialectOf(first byte, addr string) (string, error) {
	switch first {
	case '{':
		return native.Name, nil
	case 9, 0xff, 0xfe:
		return iperf3.Name, nil
	}
	return "", fmt.Errorf("%s speaks neither ethtune nor iperf3: its first byte is %#x", addr, first)
}
