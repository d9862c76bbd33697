package pane

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tune/knob"
)

func testStates() []knob.State {
	return []knob.State{
		{Knob: "engine.protocol", Side: knob.Near, Value: "tcp"},
		{Knob: "feature.netns-local", Side: knob.Near, Value: "off", Fixed: "fixed by driver"},
		{Knob: "feature.tx-udp-segmentation", Side: knob.Near, Value: "on"},
		{Knob: "feature.rx-gro", Side: knob.Near, Value: "off"}, {Knob: "feature.rx-gro", Side: knob.Far, Value: "on"},
		{Knob: "feature.tso", Side: knob.Near, Value: "on"}, {Knob: "feature.tso", Side: knob.Far, Value: "on"},
		{Knob: "feature.rx-lro", Side: knob.Near, Value: "off", Fixed: "fixed by driver"},
		{Knob: "dev.mtu", Side: knob.Near, Value: "1500", Min: 68, Max: 9500}, {Knob: "dev.mtu", Side: knob.Far, Value: "9000"},
		{Knob: "socket.sndbuf", Side: knob.Near, Value: "425984"},
		{Knob: "socket.congestion", Side: knob.Near, Value: "cubic", Offers: []string{"bbr", "cubic", "reno"}},
		{Knob: "engine.rate", Side: knob.Near, Value: "0"},
		{Knob: "engine.streams", Side: knob.Near, Value: "4"},
	}
}

func testList() *KnobList {
	k := NewKnobList()
	k.SetStates(testStates())
	return k
}

func turn(side knob.Side, name, value string) Intent {
	return Turn{Plan: knob.Plan{{Side: side, Knob: name, Value: value}}}
}

// What people turn most comes first, what cannot be turned last.
func TestKnobOrder(t *testing.T) {
	var got []string
	for _, r := range testList().rows {
		got = append(got, knob.Short(r.name))
	}
	want := []string{"tso", "gro", "lro", "mtu", "sndbuf", "cc", "rate", "streams", "proto", "uso", "netns-local"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Without headings, what cannot be turned comes last; with them it stands in its family.
func TestKnobFamilies(t *testing.T) {
	k := NewKnobList()
	k.SetStates(append(testStates(),
		knob.State{Knob: "ring.rx", Side: knob.Near, Fixed: "not supported"},
		knob.State{Knob: "sysctl.net.ipv4.tcp_wmem", Side: knob.Near, Value: "4096 16384 4194304"},
		knob.State{Knob: "sysctl.net.ipv4.tcp_rmem", Side: knob.Near, Value: "4096 131072 6291456"},
		knob.State{Knob: "sysctl.net.core.rmem_max", Side: knob.Near, Value: "212992", Fixed: "read-only here"},
		knob.State{Knob: "sysctl.net.core.netdev_max_backlog", Side: knob.Host, Value: "1000"},
		knob.State{Knob: "sysctl.net.core.netdev_budget", Side: knob.Host, Value: "300", Fixed: knob.NeedsAdmin},
	))
	for _, tt := range []struct {
		height int
		want   string
	}{
		{headingRows, "tso gro mtu sndbuf cc rate streams proto backlog tcp_rmem tcp_wmem uso lro ring-rx budget rmem_max netns-local"},
		{headingRows + 1, "[features] tso gro lro [coalesce and ring] ring-rx [dev] mtu [socket] sndbuf cc [load] rate streams proto " +
			"[sysctl] backlog budget tcp_rmem tcp_wmem rmem_max [more features] uso [fixed] netns-local"},
	} {
		k.Draw(Brush{Grid: chart.NewGrid(KnobWidth, tt.height)}, Rect{0, 0, KnobWidth, tt.height}, true, false)
		var got []string
		for _, l := range k.lines() {
			if l.row == nil {
				got = append(got, "["+l.head+"]")
			} else {
				got = append(got, knob.Short(l.row.name))
			}
		}
		if d := cmp.Diff(tt.want, strings.Join(got, " ")); d != "" {
			t.Errorf("%d rows:\n%s", tt.height, d)
		}
	}
}

// A knob of the whole host is turned on the host, from whichever side; its value stands in the near column.
func TestHostWide(t *testing.T) {
	k := NewKnobList()
	k.SetStates([]knob.State{
		{Knob: "sysctl.net.core.rmem_max", Side: knob.Near, Value: "4194304", Fixed: "read-only here"},
		{Knob: "sysctl.net.core.rmem_max", Side: knob.Host, Value: "4194304"},
		{Knob: "sysctl.net.core.netdev_budget", Side: knob.Host, Value: "300", Fixed: knob.NeedsAdmin},
	})
	k.chosen = "sysctl.net.core.rmem_max"
	for _, side := range []knob.Side{knob.Near, knob.Far} {
		k.side = side
		if d := cmp.Diff(turn(knob.Host, k.chosen, "2097152"), k.Do(StepDown)); d != "" {
			t.Error(d)
		}
	}
	g := chart.NewGrid(KnobWidth, 3)
	k.Draw(Brush{Grid: g}, Rect{0, 0, KnobWidth, 3}, true, false)
	want := "knobs       near     far   state\n▸ rmem_max  4 Mi       –   host-wide\n  budget     300       –   not permitted"
	if d := cmp.Diff(want, trimmed(g.String())); d != "" {
		t.Error(d)
	}
}

// trimmed is a picture without the blanks at the ends of its lines.
func trimmed(picture string) string {
	lines := strings.Split(picture, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// Each action on a knob of each kind gives the intent that an engineer expects.
func TestKnobIntents(t *testing.T) {
	for _, tt := range []struct {
		name string
		on   string
		side knob.Side
		do   Action
		want Intent
	}{
		{"a switch that is on", "feature.tso", knob.Near, TurnNext, turn(knob.Near, "feature.tso", "off")},
		{"a switch that is off", "feature.rx-gro", knob.Near, TurnNext, turn(knob.Near, "feature.rx-gro", "on")},
		{"the far end", "feature.rx-gro", knob.Far, TurnNext, turn(knob.Far, "feature.rx-gro", "off")},
		{"a step of a switch", "feature.tso", knob.Near, StepUp, turn(knob.Near, "feature.tso", "off")},
		{"the next offer", "socket.congestion", knob.Near, TurnNext, turn(knob.Near, "socket.congestion", "reno")},
		{"the next word", "engine.protocol", knob.Near, TurnNext, turn(knob.Near, "engine.protocol", "udp")},
		{"a step up", "dev.mtu", knob.Near, StepUp, turn(knob.Near, "dev.mtu", "4000")},
		{"a step down", "dev.mtu", knob.Near, StepDown, turn(knob.Near, "dev.mtu", "1280")},
		{"space on a number", "engine.streams", knob.Near, TurnNext, turn(knob.Near, "engine.streams", "5")},
		{"fixed", "feature.rx-lro", knob.Near, TurnNext, Say{Text: "lro cannot be turned here: fixed by driver."}},
		{"not there", "socket.sndbuf", knob.Far, TurnNext, Say{Text: "There is no sndbuf at the far end."}},
		{"at the end of its range", "engine.rate", knob.Near, StepUp, Say{Text: "rate goes no further than max here."}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := testList()
			k.chosen, k.side = tt.on, tt.side
			if d := cmp.Diff(tt.want, k.Do(tt.do)); d != "" {
				t.Error(d)
			}
		})
	}
}

// Keys faster than the kernel's answers add up.
func TestStepsAddUp(t *testing.T) {
	k := testList()
	k.chosen = "engine.streams"
	for _, want := range []string{"5", "6", "7"} {
		in := k.Do(StepUp)
		if d := cmp.Diff(turn(knob.Near, "engine.streams", want), in); d != "" {
			t.Fatal(d)
		}
		k.Asked(in.(Turn).Plan)
	}
	if got := k.State(knob.Near, "engine.streams").Value; got != "4" {
		t.Errorf("the list shows %s, the kernel has 4", got)
	}
}

func TestEditor(t *testing.T) {
	k := testList()
	k.chosen = "dev.mtu"
	typed := func(keys ...string) (last Intent) {
		for _, key := range keys {
			text := key
			if len(key) > 1 {
				text = ""
			}
			last = k.Type(key, text)
		}
		return last
	}
	k.Do(EditValue)
	if in := typed("9", "x", "enter"); in != nil || k.edit.wrong == "" || !k.Typing() {
		t.Errorf("9x gave %v, wrong %q", in, k.edit.wrong)
	}
	in := typed("backspace", "0", "0", "0", "enter")
	if d := cmp.Diff(turn(knob.Near, "dev.mtu", "9000"), in); d != "" || k.Typing() {
		t.Error(d)
	}
	k.Do(EditValue)
	if in := typed("1", "esc"); in != nil || k.Typing() {
		t.Errorf("esc gave %v", in)
	}
	// Pasted control characters and endless text do no harm.
	k.Do(EditValue)
	k.Type("", "15\x1b[2J\n00"+string(make([]byte, 5000)))
	if got := k.edit.text; got != "15[2J00" {
		t.Errorf("pasted: %q", got)
	}
}

func TestFilterKeepsTheSelection(t *testing.T) {
	k := testList()
	k.chosen = "dev.mtu"
	k.Do(Filter)
	for _, key := range []string{"m", "t"} {
		k.Type(key, key)
	}
	k.Type("enter", "")
	if len(k.shown()) != 1 || k.row().name != "dev.mtu" {
		t.Errorf("%d rows, on %s", len(k.shown()), k.chosen)
	}
	k.Do(Back)
	if len(k.shown()) != len(k.rows) || k.chosen != "dev.mtu" {
		t.Errorf("after esc: %d rows, on %s", len(k.shown()), k.chosen)
	}
}

// The words of a row are those of what was read back, whatever was asked.
func TestRowStates(t *testing.T) {
	mark := func(n int, asked, got string, o knob.Outcome) *metric.Mark {
		return &metric.Mark{N: n, Knob: "dev.mtu", Side: "near", From: "1500", Asked: asked, Got: got, Outcome: string(o)}
	}
	open := mark(1, "9000", "1500", "")
	open.Outcome = metric.Pending
	beside := mark(4, "9000", "9000", knob.Applied)
	beside.Knob, beside.Also = "feature.tso", []metric.Also{{Knob: "dev.mtu", From: "1500", To: "1400"}}
	for _, tt := range []struct {
		name  string
		recs  []metric.Record
		lamp  Lamp
		words string
		value string
	}{
		{"as found", nil, Dark, "", "1500"},
		{"pending", []metric.Record{open}, Pending, "pending → 9000", "1500"},
		{"applied", []metric.Record{open, mark(1, "9000", "9000", knob.Applied)}, Dark, "turned at 1", "9000"},
		{"adjusted", []metric.Record{mark(2, "9001", "9000", knob.Adjusted)}, Adjusted, "adjusted by kernel", "9000"},
		{"refused", []metric.Record{mark(2, "10", "1500", knob.Refused)}, Failed, "refused", "1500"},
		{"unchanged", []metric.Record{mark(2, "1500", "1500", knob.Unchanged)}, Dark, "", "1500"},
		{"side effect", []metric.Record{beside}, Adjusted, "side effect of 4", "1400"},
		{"turned after a side effect", []metric.Record{beside, mark(5, "1500", "1500", knob.Applied)}, Dark, "turned at 5", "1500"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := testList()
			for _, r := range tt.recs {
				k.Add(r)
			}
			k.chosen = "dev.mtu"
			lamp, words, _ := k.row().state()
			if lamp != tt.lamp || words != tt.words {
				t.Errorf("lamp %d %q, want %d %q", lamp, words, tt.lamp, tt.words)
			}
			if got := k.row().near.Value; got != tt.value {
				t.Errorf("shows %s, the kernel has %s", got, tt.value)
			}
		})
	}
}

// A group and its members turn together, in either direction.
func TestGroupAndMembers(t *testing.T) {
	k := NewKnobList()
	k.SetStates([]knob.State{
		{Knob: "feature.tso", Side: knob.Near, Value: "on"}, {Knob: "feature.tx-tcp-segmentation", Side: knob.Near, Value: "on"},
	})
	for n, name := range []string{"feature.tso", "feature.tx-tcp-segmentation"} {
		k.Add(&metric.Mark{N: n + 1, Knob: name, Side: "near", From: "on", Got: "off", Outcome: string(knob.Applied)})
		for _, r := range k.rows {
			if got, want := r.story.last.N, n+1; got != want {
				t.Errorf("after %s: %s was turned at %d, want %d", name, r.name, got, want)
			}
		}
	}
}

// The selected row is in view at any height.
func TestSelectionStaysInView(t *testing.T) {
	for h := 2; h < 30; h++ {
		k := testList()
		for range 2 * len(k.rows) {
			g := chart.NewGrid(KnobWidth, h)
			k.Draw(Brush{Grid: g}, Rect{0, 0, KnobWidth, h}, true, false)
			seen := false
			for y := range h {
				seen = seen || g.At(0, y).Rune == '▸'
			}
			if !seen {
				t.Fatalf("%d rows: %s is out of view:\n%s", h, k.chosen, g)
			}
			k.Do(RowDown)
		}
	}
}
