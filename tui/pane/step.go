package pane

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/ethtune/ethtune/tune/knob"
)

// ladders are the values worth stopping at. Where a ladder ends, and for numbers that have none, a step doubles or halves.
var ladders = map[string][]int64{
	// IPv4's smallest reassembly, IPv6's smallest link (RFC 8200 section 5), Ethernet, half-size jumbo, jumbo.
	"dev.mtu":     {576, 1280, 1500, 4000, 9000},
	"engine.rate": {1e6, 10e6, 100e6, 200e6, 400e6, 1e9, 2e9, 4e9, 10e9, 20e9, 40e9, 100e9},
}

// entries are the values that a step from the word for 0 leads to: "max" for a rate, "auto" for a size.
var entries = map[string]int64{"engine.rate": 1e9, "engine.size": 128 << 10, "socket.sndbuf": 256 << 10, "socket.rcvbuf": 256 << 10}

// next is the value after the one that s has, for a knob that is turned and not stepped. An error is why there is none.
func next(s knob.State) (string, error) {
	d := knob.DomainOf(s.Knob)
	switch {
	case d.Kind == knob.Switch:
		if s.Value == "on" {
			return "off", nil
		}
		return "on", nil
	case len(s.Offers) > 1:
		return after(s.Offers, s.Value), nil
	case d.Kind == knob.Choice:
		return after(d.Words, s.Value), nil
	case d.Kind == knob.Number, d.Kind == knob.Vector:
		return step(s, +1)
	}
	return "", fmt.Errorf("%s offers nothing else here; enter takes a value", knob.Short(s.Knob))
}

func after(values []string, v string) string {
	return values[(slices.Index(values, v)+1)%len(values)]
}

// step is the value one step up or down (by +1 or -1) from the one that s has.
func step(s knob.State, by int) (string, error) {
	d := knob.DomainOf(s.Knob)
	switch d.Kind {
	case knob.Vector:
		return stepVector(s, d, by)
	case knob.Number:
	default:
		return next(s)
	}
	now, err := strconv.ParseInt(s.Value, 10, 64)
	if err != nil {
		return "", fmt.Errorf("%s is %q, which has no next step; enter takes a value", knob.Short(s.Knob), s.Value)
	}
	lo, hi := bounds(s, d)
	lo, hi = min(lo, now), max(hi, now) // what was found beyond the usual limits is no reason to step the other way
	n := now
	switch want := move(s.Knob, d, now, by); {
	case d.Zero == "max" && by > 0 && (now == 0 || want > hi):
		n = 0 // no limit is above every limit
	default:
		n = clamp(want, lo, hi)
	}
	if n == now && !doubled(s.Knob) {
		return "", fmt.Errorf("%s goes no further than %s here", knob.Short(s.Knob), Value(s.Knob, s.Value))
	}
	return strconv.FormatInt(n, 10), nil
}

// move is the step itself, not yet within bounds.
func move(name string, d knob.Domain, now int64, by int) int64 {
	switch {
	case name == "engine.streams":
		return now + int64(by)
	case doubled(name) && now > 0 && by > 0:
		return now
	case doubled(name) && now > 0:
		return now / 4
	}
	if now == 0 && d.Zero != "" {
		return entries[name]
	}
	if rungs := ladders[name]; rungs != nil {
		i, found := slices.BinarySearchFunc(rungs, now, cmp.Compare[int64])
		if by > 0 && found {
			i++
		}
		if by < 0 {
			i--
		}
		if i >= 0 && i < len(rungs) {
			return rungs[i]
		}
		if by > 0 && d.Zero == "max" {
			return math.MaxInt64
		}
	}
	return twice(now, by)
}

// stepVector steps the last of three numbers, never below the second.
func stepVector(s knob.State, d knob.Domain, by int) (string, error) {
	var v [3]int64
	if n, _ := fmt.Sscan(s.Value, &v[0], &v[1], &v[2]); n != len(v) {
		return "", fmt.Errorf("%s is %q, which has no next step; enter takes a value", knob.Short(s.Knob), s.Value)
	}
	_, hi := limits(d)
	n := clamp(twice(v[2], by), v[1], max(hi, v[2]))
	if n == v[2] {
		return "", fmt.Errorf("%s goes no further than %s here", knob.Short(s.Knob), Value(s.Knob, s.Value))
	}
	return fmt.Sprintf("%d %d %d", v[0], v[1], n), nil
}

// twice doubles or halves n.
func twice(n int64, by int) int64 {
	switch {
	case by < 0:
		return n / 2
	case n > math.MaxInt64/2:
		return math.MaxInt64
	}
	return max(1, 2*n)
}

// limits are the smallest and the greatest value that a person may ask for.
func limits(d knob.Domain) (lo, hi int64) {
	if d.Usual > 0 {
		return d.Min, min(d.Max, d.Usual)
	}
	return d.Min, d.Max
}

// bounds are the limits within those that the kernel gives for s.
func bounds(s knob.State, d knob.Domain) (lo, hi int64) {
	lo, hi = limits(d)
	if s.Min != 0 || s.Max != 0 {
		lo, hi = max(lo, s.Min), min(hi, s.Max)
	}
	return lo, hi
}

// doubled says of which knobs the kernel reports twice what was asked (socket(7)): asking for what it says doubles it.
func doubled(name string) bool { return name == "socket.sndbuf" || name == "socket.rcvbuf" }

func clamp(n, lo, hi int64) int64 { return min(max(n, lo), hi) }
