package iperf3

import (
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
)

// What a slow sender has queued does not hold up the end of its test, although a stock server waits for a whole block.
func TestSlowSender(t *testing.T) {
	t.Parallel()
	s := startStock(t, "127.0.0.1")
	c := dial(t, s.addr, Options{Segment: time.Hour}) // one test, whose results are told
	drive(t, c, load(func(s *metric.Spec) { s.RateBps = 1e6 }))
	flowFor(t, c, 600_000)
	from := time.Now()
	if err := c.Pause(background(t)); err != nil {
		t.Fatalf("%v\n%s", err, s.out)
	}
	if d := time.Since(from); d > 15*time.Second { // 20 s of it may be queued
		t.Errorf("its end takes %v", d)
	}
	_, last := c.span(t, 2)
	if tx, rx := c.Read(nil).Tx, last.Load.Rx; rx.Bytes < tx.Bytes/2 {
		t.Errorf("sent %+v, received %+v", tx, rx)
	}
}
