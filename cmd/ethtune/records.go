package main

import (
	"math"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
)

// schema is the version of the JSON lines.
const schema = 1

// startRecord is the first line of a run.
type startRecord struct {
	Schema     int             `json:"schema"`
	Version    string          `json:"version"`
	Host       string          `json:"host"`
	Kernel     string          `json:"kernel"`
	CPUs       int             `json:"cpus"`
	Dialect    string          `json:"dialect"`
	Asked      metric.Spec     `json:"asked"`
	Granted    metric.Granted  `json:"granted"`
	Congestion congestionNames `json:"congestion,omitzero"`
	Knobs      []knob.State    `json:"knobs"`
}

type congestionNames struct {
	Near string `json:"near,omitempty"`
	Far  string `json:"far,omitempty"`
}

// RecordType is the line's type.
func (*startRecord) RecordType() string { return "start" }

func newStart(f rig.Facts, s metric.Spec, g metric.Granted, states []knob.State) *startRecord {
	return &startRecord{
		Schema: schema, Version: f.Version, Host: f.Host, Kernel: f.Kernel, CPUs: f.CPUs,
		Dialect: g.Dialect, Asked: s, Granted: g, Knobs: states,
		Congestion: congestionNames{g.Near.Congestion, g.Far.Congestion},
	}
}

// endRecord is the last line of a run, also of one that a signal ended.
type endRecord struct {
	T        float64          `json:"t"`
	Totals   []total          `json:"totals"`
	Restored []restoredRecord `json:"restored,omitempty"`
	Error    string           `json:"error,omitempty"`
}

// RecordType is the line's type.
func (*endRecord) RecordType() string { return "end" }

// total is one direction of the whole run: means of the rates, sums of the counters.
type total struct {
	Dir          metric.Dir     `json:"dir"`
	Span         float64        `json:"span"`
	TxBytes      metric.Num     `json:"tx_bytes,omitzero"`
	RxBytes      metric.Num     `json:"rx_bytes,omitzero"`
	TxBps        metric.Num     `json:"tx_bps,omitzero"`
	RxBps        metric.Num     `json:"rx_bps,omitzero"`
	JitterMs     metric.Num     `json:"jitter_ms,omitzero"` // the estimator's last word
	JitterP50Ms  metric.Num     `json:"jitter_p50_ms,omitzero"`
	JitterP99Ms  metric.Num     `json:"jitter_p99_ms,omitzero"`
	JitterMaxMs  metric.Num     `json:"jitter_max_ms,omitzero"`
	JitterFrom   string         `json:"jitter_from,omitempty"`
	Lost         metric.Num     `json:"lost,omitzero"`
	Packets      metric.Num     `json:"packets,omitzero"`
	LossPct      metric.Num     `json:"loss_pct,omitzero"`
	LossFrom     string         `json:"loss_from,omitempty"`
	LostAt       *metric.LostAt `json:"lost_at,omitempty"`
	Reordered    metric.Num     `json:"reordered,omitzero"`
	Duplicates   metric.Num     `json:"duplicates,omitzero"`
	Missed       metric.Num     `json:"missed,omitzero"`
	SoftnetDrops metric.Num     `json:"softnet_drops,omitzero"`
	Retransmits  metric.Num     `json:"retransmits,omitzero"`
	RttMs        metric.Num     `json:"rtt_ms,omitzero"`
}

func newTotal(f *metric.Frame) total {
	bytes := func(bps metric.Num) metric.Num {
		v, ok := bps.Get()
		if !ok {
			return bps
		}
		return metric.N(math.Round(v * f.Span / 8))
	}
	return total{
		Dir: f.Dir, Span: f.Span, TxBytes: bytes(f.TxBps), RxBytes: bytes(f.RxBps), TxBps: f.TxBps, RxBps: f.RxBps,
		JitterMs: f.JitterMs, JitterP50Ms: f.JitterP50Ms, JitterP99Ms: f.JitterP99Ms, JitterMaxMs: f.JitterMaxMs, JitterFrom: f.JitterFrom,
		Lost: f.Lost, Packets: f.Packets, LossPct: f.LossPct, LossFrom: f.LossFrom, LostAt: f.LostAt,
		Reordered: f.Reordered, Duplicates: f.Duplicates, Missed: f.Missed,
		SoftnetDrops: f.SoftnetDrops, Retransmits: f.Retransmits, RttMs: f.RttMs,
	}
}

// restoredRecord is one knob that was put back at the end.
type restoredRecord struct {
	Knob    string    `json:"knob"`
	Side    knob.Side `json:"side"`
	From    string    `json:"from"`
	Got     string    `json:"got"`
	Outcome string    `json:"outcome"`
	Reason  string    `json:"reason,omitempty"`
}

func restored(back []knob.Result) []restoredRecord {
	var out []restoredRecord
	for _, r := range back {
		out = append(out, restoredRecord{r.Knob, r.Side, r.From, r.Got, string(r.Outcome), r.Reason})
	}
	return out
}
