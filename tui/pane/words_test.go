package pane

import (
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/trial"
)

func TestValue(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"feature.tso", "on", "on"}, {"dev.mtu", "9216", "9216"}, {"dev.tx_queue_len", "1000", "1000"},
		{"socket.sndbuf", "425984", "416 Ki"}, {"socket.sndbuf", "4194304", "4 Mi"}, {"socket.sndbuf", "2304", "2304"},
		{"socket.sndbuf", "0", "auto"}, {"engine.rate", "0", "max"}, {"engine.rate", "400000000", "400 M"},
		{"engine.rate", "1500000000", "1500 M"}, {"engine.rate", "1234567", "1234567"}, {"engine.size", "131072", "128 Ki"},
		{"socket.congestion", "cubic", "cubic"}, {"feature.nobody-knows", "", "–"},
	} {
		if got := Value(tt.name, tt.value); got != tt.want {
			t.Errorf("%s %q: %q, want %q", tt.name, tt.value, got, tt.want)
		}
	}
}

func TestChange(t *testing.T) {
	for _, tt := range []struct {
		before, after metric.Num
		want          string
	}{
		{metric.N(31e9), metric.N(7.4e9), "31.0 → 7.4 Gbit/s"},
		{metric.N(940e6), metric.N(1.2e9), "0.9 → 1.2 Gbit/s"},
		{metric.N(0), metric.N(3e6), "0.0 → 3.0 Mbit/s"},
		{metric.Num{}, metric.N(3e6), "– → 3.0 Mbit/s"},
		{metric.Num{}, metric.Num{}, "– → – bit/s"},
	} {
		if got := change(rateUnits, tt.before, tt.after); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestEffect(t *testing.T) {
	mark := metric.Mark{N: 3, T: 100, Knob: "feature.tso", From: "on", Got: "off", Outcome: string(knob.Applied)}
	changed := func(f func(*metric.Mark)) metric.Mark { m := mark; f(&m); return m }
	verdict := func(a trial.Answer, pct float64, ci ...float64) *trial.Verdict {
		return &trial.Verdict{Metric: trial.Bandwidth, Answer: a, DeltaPct: metric.N(pct), CI95: ci}
	}
	drifting := verdict(trial.Unsure, 4, 1, 7)
	drifting.Reason = "drifting before"
	for _, tt := range []struct {
		name   string
		mark   metric.Mark
		v      *trial.Verdict
		now    float64
		number string
		lamp   Lamp
		word   string
	}{
		{"worse", mark, verdict(trial.Worse, -76.2, -77, -75.4), 110, "-76 % ±1", Worse, "worse"},
		{"better", mark, verdict(trial.Better, 305, 296, 314), 110, "+305 % ±9", Better, "better"},
		{"better, of a skewed interval", mark, verdict(trial.Better, 16, 2, 52), 110, "+16 % ±14", Better, "better"},
		{"worse, of a skewed interval", mark, verdict(trial.Worse, -40, -48, -4), 110, "-40 % ±36", Worse, "worse"},
		{"no change", mark, verdict(trial.NoChange, 0.3, -1, 1.6), 110, "no change ±1", Dark, ""},
		{"unsure", mark, verdict(trial.Unsure, 4, -2, 10), 110, "+4 % ±6", Dark, "unsure"},
		{"drifting", mark, drifting, 110, "drifting", Dark, ""},
		{"measuring", mark, nil, 100.4, "measuring 4 s", Dark, ""},
		{"measured, not judged", mark, nil, 104.2, "measuring", Dark, ""},
		{"waiting", changed(func(m *metric.Mark) { m.Outcome = metric.Pending }), nil, 100, "waiting", Pending, ""},
		{"refused", changed(func(m *metric.Mark) { m.Got, m.Outcome = "on", string(knob.Refused) }), nil, 100, "refused", Failed, ""},
		{"unchanged", changed(func(m *metric.Mark) { m.Got, m.Outcome = "on", string(knob.Unchanged) }), nil, 100, "unchanged", Dark, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			turn := turned{mark: tt.mark, verdicts: map[string]*trial.Verdict{}}
			if tt.v != nil {
				turn.verdicts[trial.Bandwidth] = tt.v
			}
			e := turn.effect(trial.Bandwidth, tt.now)
			if e.forms[0] != tt.number || e.lamp != tt.lamp || e.word != tt.word {
				t.Errorf("%q lamp %d %q, want %q lamp %d %q", e.forms[0], e.lamp, e.word, tt.number, tt.lamp, tt.word)
			}
		})
	}
}

// Turns too close to be told apart share one verdict, and say with whom.
func TestJudgedTogether(t *testing.T) {
	e := NewEventList()
	for n := 1; n <= 2; n++ {
		e.Add(&metric.Mark{N: n, T: float64(n) / 2, Knob: "feature.tso", From: "on", Got: "off", Outcome: string(knob.Applied)})
	}
	e.Add(&trial.Verdict{Mark: 2, With: []int{1}, Metric: trial.Bandwidth, Answer: trial.NoChange})
	if got := e.turn(1).effect(trial.Bandwidth, 10).forms[0]; got != "judged with 2" {
		t.Errorf("%q", got)
	}
}

// A name from a peer or a kernel cannot break the screen.
func TestWildTextStaysInItsCells(t *testing.T) {
	e := NewEventList()
	e.Add(&metric.Note{Text: "\x1b[2J\x07宽\u0301 a very long note that goes on and on and on and on"})
	g := chart.NewGrid(40, 3)
	e.Draw(Brush{Grid: g}, Rect{2, 0, 30, 3}, false)
	for y := range 3 {
		for x := range 40 {
			if c := g.At(x, y); (x < 2 || x >= 32) && c.Rune != 0 || c.Rune == '\x1b' {
				t.Fatalf("cell %d,%d is %q", x, y, c.Rune)
			}
		}
	}
}
