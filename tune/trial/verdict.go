package trial

import "github.com/ethtune/ethtune/engine/metric"

// Answer is what a comparison came to.
type Answer string

// The answers.
const (
	Better   Answer = "better"
	Worse    Answer = "worse"
	NoChange Answer = "no-change"
	Unsure   Answer = "unsure"
)

// Metrics that are judged, named as their field of a Frame.
const (
	Bandwidth = "rx_bps"
	Jitter    = "jitter_ms"
	Loss      = "loss_pct"
)

// Verdict says what the turn at one Mark did to one metric: a "verdict" line. A is before, B is after.
type Verdict struct {
	Mark     int        `json:"mark"`
	With     []int      `json:"with,omitempty"` // earlier marks too close to be told apart: this is the effect of all
	Knob     string     `json:"knob"`
	Side     string     `json:"side"`
	A        string     `json:"a"`
	B        string     `json:"b"`
	Metric   string     `json:"metric"`
	Before   metric.Num `json:"before,omitzero"`    // median, in the metric's own unit; for loss the pooled percentage
	After    metric.Num `json:"after,omitzero"`     // the same
	DeltaPct metric.Num `json:"delta_pct,omitzero"` // B against A in percent; absent where A is 0
	CI95     []float64  `json:"ci95,omitempty"`     // low and high end of DeltaPct
	Answer   Answer     `json:"answer"`
	Reason   string     `json:"reason,omitempty"` // why it is unsure
	Pairs    int        `json:"pairs"`            // 1 for a single before and after
}

// RecordType is the line's type.
func (*Verdict) RecordType() string { return "verdict" }
