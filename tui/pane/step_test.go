package pane

import (
	"strconv"
	"testing"

	"github.com/ethtune/ethtune/tune/knob"
)

func TestStep(t *testing.T) {
	mtu := knob.State{Knob: "dev.mtu", Min: 68, Max: 9216}
	for _, tt := range []struct {
		state knob.State
		value string
		by    int
		want  string // empty = none
	}{
		{mtu, "1500", +1, "4000"}, {mtu, "1500", -1, "1280"}, {mtu, "1400", +1, "1500"}, {mtu, "1400", -1, "1280"},
		{mtu, "9000", +1, "9216"}, {mtu, "9216", +1, ""}, {mtu, "576", -1, "288"}, {mtu, "100", -1, "68"}, {mtu, "68", -1, ""},
		{knob.State{Knob: "dev.tx_queue_len"}, "1000", +1, "2000"}, {knob.State{Knob: "dev.tx_queue_len"}, "1000", -1, "500"},
		{knob.State{Knob: "dev.tx_queue_len"}, "0", +1, "1"}, {knob.State{Knob: "dev.tx_queue_len"}, "0", -1, ""},
		{knob.State{Knob: "engine.rate"}, "0", -1, "1000000000"}, {knob.State{Knob: "engine.rate"}, "0", +1, ""},
		{knob.State{Knob: "engine.rate"}, "100000000", +1, "200000000"}, {knob.State{Knob: "engine.rate"}, "1000000000000", +1, "0"},
		{knob.State{Knob: "engine.streams"}, "1", -1, ""}, {knob.State{Knob: "engine.streams"}, "128", +1, ""},
		{knob.State{Knob: "engine.size"}, "0", +1, "131072"}, {knob.State{Knob: "engine.size"}, "1024", +1, "2048"},
		// The kernel shows twice what it is asked for.
		{knob.State{Knob: "socket.sndbuf"}, "425984", +1, "425984"}, {knob.State{Knob: "socket.sndbuf"}, "425984", -1, "106496"},
	} {
		s := tt.state
		s.Value = tt.value
		got, err := step(s, tt.by)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("%s %s by %d: %q, %v; want %q", s.Knob, s.Value, tt.by, got, err, tt.want)
		}
	}
}

// Whatever a kernel says, a step is a value that the knob takes, or an error.
func FuzzStep(f *testing.F) {
	names := []string{"dev.mtu", "dev.tx_queue_len", "engine.rate", "engine.streams", "engine.size", "socket.sndbuf", "feature.tso", "engine.mode"}
	f.Add(uint8(0), "1500", int64(68), int64(9000), true)
	f.Add(uint8(2), "0", int64(0), int64(0), false)
	f.Add(uint8(5), "-9223372036854775808", int64(-1), int64(1), false)
	f.Fuzz(func(t *testing.T, which uint8, value string, lo, hi int64, up bool) {
		s := knob.State{Knob: names[int(which)%len(names)], Value: value, Min: lo, Max: hi}
		by := -1
		if up {
			by = +1
		}
		got, err := step(s, by)
		if err != nil || (s.Min != 0 || s.Max != 0) {
			return // the kernel's own range may be odd, and is the kernel's to answer for
		}
		if n, e := strconv.ParseInt(value, 10, 64); e == nil && doubled(s.Knob) && n < 1<<12 {
			return // half of a buffer the kernel would not give: it says so
		}
		if _, err := knob.Canonical(s.Knob, got); err != nil {
			t.Errorf("%s from %q: %q: %v", s.Knob, value, got, err)
		}
	})
}
