package knob

import (
	"cmp"
	"slices"
	"strings"
)

// Rank is the place of a knob in an order in which nothing is asked for before what it needs: the MTU first, since
// drivers drop TSO and checksums above a size; then checksums, which TSO needs; then scatter-gather, which TSO and
// generic segmentation need; then the other features; then all else.
func Rank(name string) int {
	bit, isFeature := strings.CutPrefix(name, featurePrefix)
	switch {
	case name == "dev.mtu":
		return 0
	case isFeature && (bit == "rx-checksum" || bit == "tx" || strings.HasPrefix(bit, "tx-checksum-")):
		return 1
	case isFeature && strings.HasPrefix(bit, "tx-scatter-gather"):
		return 2
	case isFeature:
		return 3
	}
	return 4
}

// Ordered is the plan in the order of [Rank]; what has the same rank keeps its order.
func (p Plan) Ordered() Plan {
	q := slices.Clone(p)
	slices.SortStableFunc(q, func(a, b Setting) int { return cmp.Compare(Rank(a.Knob), Rank(b.Knob)) })
	return q
}
