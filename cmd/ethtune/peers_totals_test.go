package main

import (
	"errors"
	"fmt"
	"math"
)

// near says whether a and b are the same but for a share of b.
func near(a, b, share float64) bool { return b > 0 && math.Abs(a-b) <= share*b }

// within says whether a is from least to most times b.
func within(a, b, least, most float64) bool { return b > 0 && a >= least*b && a <= most*b }

// mostRate is the part of a rate that senders on a busy machine keep below, who make good for what they could not send.
const mostRate = 1.3

// mostJitter in milliseconds is what datagrams that come each half a millisecond on this wire can have on a busy machine.
const mostJitter = 50

// sane says whether a jitter on this wire can be true.
func sane(ms float64) bool { return ms > 0 && ms < mostJitter }

// field is a field of a line, or -1 where there is none.
func field(m map[string]any, name string) float64 {
	if v, ok := m[name].(float64); ok {
		return v
	}
	return -1
}

var (
	errBusy = errors.New("what a busy machine may do") // not carried, or on its way at the end
	errDied = errors.New("the stock server crashed")   // of a fault of its own
)

// steadily runs what compares the numbers of two ends. Other work on the machine may hold up one run, or bring out a fault of
// iperf's; hardly five in a row. What is told wrong is told wrong each time.
func steadily(run func() error) error {
	err := run()
	for range 4 {
		if errors.Is(err, errBusy) || errors.Is(err, errDied) {
			err = run()
		}
	}
	return err
}

// checkTotals looks at both directions of a run at a rate: about what was asked, and of UDP loss and jitter.
func checkTotals(totals map[string]map[string]any, out, in, udp bool, streams int, coarse float64) error {
	want := peerRate * float64(streams)
	if len(totals) != map[bool]int{false: 1, true: 2}[out && in] {
		return fmt.Errorf("totals %v", totals)
	}
	// UDP streams begin one after the other, and TCP begins slowly.
	if m := totals["out"]; out && (!near(field(m, "tx_bps"), want, 0.05) || udp && !near(field(m, "rx_bps"), want, 0.02)) {
		return fmt.Errorf("%w: out: %v", errBusy, m)
	}
	if m := totals["out"]; out && udp && (field(m, "jitter_ms") < 0 || field(m, "jitter_ms") > mostJitter) {
		return fmt.Errorf("out: %v", m)
	}
	// What a server writes at a time is its own affair, and a whole write more or less is in our second.
	if m := totals["in"]; in && (math.Abs(field(m, "rx_bps")-want) > 0.02*want+coarse*float64(streams) || udp && field(m, "lost") != 0) {
		return fmt.Errorf("%w: in: %v", errBusy, m)
	}
	if m := totals["in"]; in && udp && (field(m, "packets") < 1000 || !sane(field(m, "jitter_ms"))) {
		return fmt.Errorf("in: %v", m)
	}
	return nil
}
