package assets

import _ "embed"

//go:embed knobs.json
var knobs string

// Knobs is the catalogue of knobs: a JSON array with one object a knob, in the order they are shown.
//
// Fields: key (canonical name), aliases (what people type; the first is the short name on screen), members (of a group:
// the knobs it turns together), decides (of a group: the members that give its value; left out = all), group, type, unit,
// default, range, effect (when it takes effect and at what price), risk (R0 nothing lost, R1 a stall below a second, R2
// the link resets, R3 can lock you out), scope, dir, metric (what to watch), help (one line), note, evidence (K kernel
// source or documentation, L tried on a live system, A another tuner, I a public report, M unverified) and source.
func Knobs() string { return knobs }
