// Package metric is the vocabulary of traffic and its measurement: the [Spec] of the load, the [Frame] measured every
// sampling tick, the [Mark] where a knob was turned, the [Feed] that carries them in order, and the JSON lines they are
// written as.
//
// The same lines are the agent stream, the output of "ethtune run --json" and a recording, so there is one codec.
//
// Absent is not zero: a number that was not measured is the zero [Num], is left out of the JSON, and is drawn as a gap.
//
// Units are spelled in the field names: bps is bit/s, ms is milliseconds, pct is percent.
package metric
