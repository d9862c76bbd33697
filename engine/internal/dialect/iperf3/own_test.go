package iperf3

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
)

// Our own two ends go through every change, on both address families.
func TestOwnEnds(t *testing.T) {
	t.Parallel()
	for _, ip := range []string{"127.0.0.1", "::1"} {
		s, g := serve(t, ip, metric.Rules{})
		t.Cleanup(func() {
			for _, m := range g.gone() {
				if m.Reason != "" {
					t.Errorf("%+v", m)
				}
			}
		})
		c := dial(t, s.Addr(), Options{Bind: netip.MustParseAddr(ip), Segment: 100 * time.Millisecond})
		for _, proto := range []metric.Proto{metric.TCP, metric.UDP} {
			for _, mode := range []metric.Mode{metric.ModeOut, metric.ModeIn, metric.ModeBoth} {
				drive(t, c, load(func(s *metric.Spec) { s.Proto, s.Mode, s.Streams, s.RateBps, s.Size = proto, mode, 4, 4e6, 1000 }))
				flowFor(t, c, 400_000)
			}
		}
		if err := c.Pause(background(t)); err != nil {
			t.Fatal(err)
		}
		_, last := c.span(t, 5)
		c.wg.Wait()
		// TCP is left out: at a low rate seconds of it wait in the sender's buffer when a test ends.
		if tx, rx := c.Read(nil).Tx, last.Load.Rx; tx.Packets != rx.Expected || rx.Lost() > rx.Expected/2 {
			t.Errorf("sent %+v, received %+v", tx, rx)
		}
		if rx, tx := c.Read(nil).Rx, last.Load.Tx; tx.Packets != rx.Expected || rx.Lost() > rx.Drops {
			t.Errorf("received %+v, sent %+v", rx, tx)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "all guests leave", func() bool { return len(s.house.Guests()) == 0 })
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	s, g := serve(t, "127.0.0.1", metric.Rules{Sessions: 1, RateBps: 1e6, Time: 3 * time.Second})
	c := dial(t, s.Addr(), Options{})
	from := time.Now()
	drive(t, c, load(func(s *metric.Spec) { s.Proto, s.Mode, s.Size = metric.UDP, metric.ModeIn, 500 }))
	flowFor(t, c, 10_000)
	short, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	other := dial(t, s.Addr(), Options{})
	if err := other.Drive(short, metric.DefaultSpec(), false); err == nil {
		t.Error("a second of one session came in")
	}
	select {
	case <-c.Done():
	case <-background(t).Done():
		t.Fatal("the session does not end in time")
	}
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), errServerTerminate.Error()) {
		t.Errorf("it ended by %v", err)
	}
	if bps := float64(c.Read(nil).Rx.Bytes) * 8 / time.Since(from).Seconds(); bps > 1.3e6 {
		t.Errorf("%.0f bit/s of at most 1M", bps)
	}
	eventually(t, "the guest leaves", func() bool { return len(g.gone()) == 1 })
	if m := g.gone()[0]; !strings.Contains(m.Reason, "3s") || m.Mode != metric.ModeIn || m.Proto != metric.UDP {
		t.Errorf("%+v", m)
	}
}

// A stock client that is not let in says so in its own words.
func TestStockClientIsRefused(t *testing.T) {
	t.Parallel()
	stock(t)
	s, _ := serve(t, "127.0.0.1", metric.Rules{Sessions: 1})
	c := dial(t, s.Addr(), Options{})
	drive(t, c, metric.DefaultSpec())
	if _, err := runStock(background(t), t, s.Addr(), "-t", "1"); err == nil || !strings.Contains(err.Error(), "busy") {
		t.Errorf("busy: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the place is free", func() bool { return len(s.house.Guests()) == 0 })
	if _, err := runStock(background(t), t, s.Addr(), "-t", "1", "-w", "200M"); err == nil || !strings.Contains(err.Error(), "buffer") {
		t.Errorf("window: %v", err)
	}
}
