package iperf3

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/metric"
)

// dial connects a Client that the end of the test closes.
func dial(t testing.TB, addr string, o Options) *Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), late)
	defer cancel()
	c, err := Dial(ctx, addr, o, dialect.Hooks{Note: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// load is a spec of the default but for change.
func load(change func(*metric.Spec)) metric.Spec {
	s := metric.DefaultSpec()
	change(&s)
	return s
}

// drive starts or re-aims.
func drive(t testing.TB, c *Client, s metric.Spec) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), late)
	defer cancel()
	if err := c.Drive(ctx, s, false); err != nil {
		t.Fatalf("drive %+v: %v", s, err)
	}
}

// last is the latest of the far end's stats, and the first.
func (c *Client) span(t testing.TB, n int) (first, last *dialect.Stats) {
	t.Helper()
	var all []*dialect.Stats
	eventually(t, fmt.Sprintf("%d stats of the far end", n), func() bool {
		all = append(all, c.Far()...)
		return len(all) >= n
	})
	return all[0], all[len(all)-1]
}

// flowFor lets the load flow until this end has moved so many bytes.
func flowFor(t testing.TB, c *Client, bytes uint64) {
	t.Helper()
	from := c.Read(nil)
	eventually(t, fmt.Sprintf("%d bytes flow", bytes), func() bool {
		now := c.Read(nil)
		if err := c.Err(); err != nil {
			t.Fatal(err)
		}
		return now.Tx.Bytes+now.Rx.Bytes >= from.Tx.Bytes+from.Rx.Bytes+bytes
	})
}

func near(a, b uint64, within float64) bool {
	return math.Abs(float64(a)-float64(b)) <= within*math.Max(float64(a), float64(b))
}

func TestClientMatrix(t *testing.T) {
	stock(t)
	atOnce(t, 4, matrix(), cell.String, func(t *testing.T, x cell) {
		s := startStock(t, x.ip)
		c := dial(t, s.addr, Options{Segment: time.Hour}) // one test, whose results are told
		spec := load(func(s *metric.Spec) {
			s.Proto, s.Mode, s.Streams, s.RateBps = x.proto, x.mode, x.n, 500e6
			// What is on its way at the end, within these buffers, was sent and not received; more of it on a busy machine.
			s.Near.SndBuf, s.Near.RcvBuf, s.Far.SndBuf, s.Far.RcvBuf = 64<<10, 64<<10, 64<<10, 64<<10
			if x.proto == metric.UDP {
				s.Size, s.RateBps, s.Near, s.Far = 1400, 4e6, metric.Socket{}, metric.Socket{}
			}
		})
		drive(t, c, spec)
		flowFor(t, c, uint64(spec.RateBps)/8)
		if err := c.Pause(context.Background()); err != nil {
			t.Fatalf("%v\n%s", err, s.out)
		}
		_, st := c.span(t, 2)
		c.wg.Wait()
		own, far := c.Read(nil), st.Load
		if lost := far.Rx.Lost() * uint64(spec.Size); x.mode != metric.ModeIn && !near(own.Tx.Bytes-lost, far.Rx.Bytes, 0.05) {
			t.Errorf("sent %+v, the server received %+v\n%s", own.Tx, far.Rx, s.out)
		}
		if lost := own.Rx.Lost() * uint64(spec.Size); x.mode != metric.ModeOut && !near(own.Rx.Bytes+lost, far.Tx.Bytes, 0.05) {
			t.Errorf("received %+v, the server sent %+v\n%s", own.Rx, far.Tx, s.out)
		}
		if x.proto == metric.UDP && x.mode != metric.ModeIn && (far.Rx.Expected != own.Tx.Packets || far.Rx.JitterNs.Or(0) > 1e8) {
			t.Errorf("sent %+v, the server says %+v", own.Tx, far.Rx)
		}
		if x.proto == metric.UDP && x.mode != metric.ModeOut && own.Rx.Expected != far.Tx.Packets {
			t.Errorf("received %+v, the server sent %+v", own.Rx, far.Tx)
		}
	})
}
