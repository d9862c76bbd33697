package main

import (
	"errors"
	"fmt"
	"math"
)

// near says whether a and b are the same but for a share of b.
func near(a, b, share float64) bool { return b > 0 && math.Abs(a-b) <= share*b }

// within says whether a is from least to most times b. A busy machine carries less than it is asked to, and reads late.
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
	errRate = errors.New("not the rate that was asked for") // a run carried
	errDied = errors.New("the stock server crashed")        // of a fault of its own
)

// carried compares a rate with what was asked for. A sender that was held up makes good for it, perhaps within our second.
func carried(m map[string]any, name string, want, most float64) error {
	if !within(field(m, name), want, 0.6, most) {
		return fmt.Errorf("%w: %s of %v", errRate, name, m)
	}
	return nil
}

// checkTotals looks at both directions of a run at a rate: about what was asked, and of UDP loss and jitter.
func checkTotals(totals map[string]map[string]any, out, in, udp bool, streams int, coarse float64) error {
	want := peerRate * float64(streams)
	if len(totals) != map[bool]int{false: 1, true: 2}[out && in] {
		return fmt.Errorf("totals %v", totals)
	}
	if m := totals["out"]; out {
		// UDP streams begin one after the other, and TCP begins slowly.
		if err := carried(m, "tx_bps", want, mostRate); err != nil {
			return err
		}
		if udp && (field(m, "jitter_ms") < 0 || field(m, "jitter_ms") > mostJitter) {
			return fmt.Errorf("out: %v", m)
		}
		if udp {
			if err := carried(m, "rx_bps", want, mostRate); err != nil {
				return err
			}
		}
	}
	if m := totals["in"]; in {
		// What a server writes at a time is its own affair, and a whole write more or less is in our second.
		if err := carried(m, "rx_bps", want, mostRate+coarse/peerRate); err != nil {
			return err
		}
		if udp && (!within(field(m, "lost"), field(m, "packets"), 0, 0.2) || !sane(field(m, "jitter_ms"))) {
			return fmt.Errorf("in: %v", m)
		}
	}
	return nil
}
