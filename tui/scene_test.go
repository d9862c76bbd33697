package tui

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tui/term"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
	"github.com/ethtune/ethtune/tune/trial"
)

// noon is when the scene's traffic first flowed.
var noon = time.Date(2026, 11, 30, 14, 1, 7, 0, time.UTC)

func clockAt(t float64) time.Time { return noon.Add(time.Duration(t * float64(time.Second))) }

// sceneEnd is how long the scene has been running, in seconds.
const sceneEnd = 180

// newScene is a model of cols by rows that has seen three minutes of traffic: TSO was turned off at 94 s and on at 126 s.
func newScene(t testing.TB, cols, rows int, gl chart.Glyphs) *model {
	bench, _ := newBench(t)
	m := newBare(t, bench, cols, rows, gl)
	m.states(readStates(context.Background(), bench))
	feed(m, sceneRecords()...)
	m.tick(clockAt(sceneEnd))
	return m
}

// newBare is a model that has seen nothing yet.
func newBare(t testing.TB, bench *rig.Bench, cols, rows int, gl chart.Glyphs) *model {
	spec := metric.DefaultSpec()
	spec.Streams = 4
	c := Config{Bench: bench, Spec: spec, Title: "lab", Caps: term.Caps{Glyphs: gl, Columns: cols, Rows: rows}, Env: []string{"TERM=xterm"}}
	m := newModel(context.Background(), c)
	t.Cleanup(m.reader.Close)
	m.now = noon
	return m
}

// press types keys by their names.
func press(t testing.TB, m *model, keys ...string) (cmds []tea.Cmd) {
	t.Helper()
	for _, k := range keys {
		text := k
		if len(k) > 1 {
			text = ""
		}
		if k == "space" {
			text = " "
		}
		if cmd := m.key(k, text); cmd != nil {
			cmds = append(cmds, cmd)
		}
		m.paint()
	}
	return cmds
}

// feed gives records to the model as the feed would.
func feed(m *model, recs ...metric.Record) {
	for _, r := range recs {
		at := m.now
		switch r := r.(type) {
		case *metric.Frame:
			at = clockAt(r.T)
		case *metric.Mark:
			at = clockAt(r.T)
		}
		m.records(recordsMsg{recs: []metric.Record{r}, at: at})
	}
}

// sceneRecords is what the scene saw, in order.
func sceneRecords() []metric.Record {
	rng := rand.New(rand.NewPCG(7, 11))
	recs := []metric.Record{
		&metric.Note{T: 0, Time: clockAt(0), Text: "lab up, two namespaces"},
		&metric.Note{T: 0.1, Time: clockAt(0.1), Text: "4 streams opened"},
	}
	for i := 1; i <= sceneEnd*10; i++ {
		t := float64(i) / 10
		slow := t > 94 && t <= 126
		recs = append(recs, sceneFrame(rng, t, slow))
		switch i {
		case 940:
			recs = append(recs, turnMarks(1, 94, "on", "off")...)
		case 980:
			recs = append(recs, verdicts(1, "on", "off", -76, 31.0e9, 7.4e9, 0.0041, 0.0216, 424, 0.02, 0.17)...)
		case 1260:
			recs = append(recs, turnMarks(2, 126, "off", "on")...)
		case 1300:
			recs = append(recs, verdicts(2, "off", "on", 305, 7.4e9, 30.0e9, 0.0216, 0.0041, -81, 0.17, 0.02)...)
		}
	}
	return recs
}

func sceneFrame(rng *rand.Rand, t float64, slow bool) *metric.Frame {
	bps, jitter, loss := 30.4e9, 0.0041, 0.0002
	if slow {
		bps, jitter, loss = 7.4e9, 0.0216, 0.0017
	}
	lost := 0.0
	for range 20 {
		if rng.Float64() < loss {
			lost++
		}
	}
	bps *= 1 + 0.012*rng.NormFloat64()
	return &metric.Frame{
		T: t, Span: 0.1, Time: clockAt(t), Dir: metric.Out,
		TxBps: metric.N(bps), RxBps: metric.N(bps),
		JitterMs: metric.N(jitter * (1 + 0.12*rng.NormFloat64())), JitterFrom: metric.FromProbe,
		Lost: metric.N(lost), Packets: metric.N(20), LossPct: metric.N(5 * lost), LossFrom: metric.FromProbe,
		CPU: metric.N(61.2), SelfCPU: metric.N(1.2),
	}
}

// turnMarks is a turn of TSO as it stands in the feed: opened, then closed.
func turnMarks(n int, t float64, from, to string) []metric.Record {
	m := metric.Mark{N: n, T: t, Time: clockAt(t), Knob: "feature.tso", Side: "near", From: from, Asked: to, Got: from, Outcome: metric.Pending}
	done := m
	done.Got, done.Outcome = to, string(knob.Applied)
	return []metric.Record{&m, &done}
}

func verdicts(n int, a, b string, pct, bps0, bps1, jit0, jit1, jitPct, loss0, loss1 float64) []metric.Record {
	base := trial.Verdict{Mark: n, Knob: "feature.tso", Side: "near", A: a, B: b, Pairs: 1}
	bw, jit, loss := base, base, base
	bw.Metric, bw.Before, bw.After, bw.DeltaPct = trial.Bandwidth, metric.N(bps0), metric.N(bps1), metric.N(pct)
	jit.Metric, jit.Before, jit.After, jit.DeltaPct = trial.Jitter, metric.N(jit0), metric.N(jit1), metric.N(jitPct)
	loss.Metric, loss.Before, loss.After = trial.Loss, metric.N(loss0), metric.N(loss1)
	bw.Answer, jit.Answer, loss.Answer = trial.Worse, trial.Worse, trial.Worse
	bw.CI95, jit.CI95 = []float64{pct - 1, pct + 1}, []float64{jitPct - 18, jitPct + 18}
	if pct > 0 {
		bw.Answer, jit.Answer, loss.Answer = trial.Better, trial.Better, trial.Unsure
		bw.CI95 = []float64{pct - 9, pct + 9}
	}
	return []metric.Record{&bw, &jit, &loss}
}

// plain is the picture without styles.
func (m *model) plain() string { return string(m.grid.Bytes(chart.NoStyle)) }
