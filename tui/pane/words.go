package pane

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tune/knob"
)

// none stands for what was not measured or is not there. It is never 0.
const none = "–"

// Value writes the value of a knob as the screen shows it: bytes in Ki and Mi where they are whole, rates in k, M and G,
// a word where 0 means one, and of three numbers the last, which is the one that limits.
func Value(name, value string) string {
	if value == "" {
		return none
	}
	d := knob.DomainOf(name)
	if fields := strings.Fields(value); d.Kind == knob.Vector && len(fields) > 0 {
		value = fields[len(fields)-1]
	}
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case err != nil:
		return value
	case n == 0 && d.Zero != "":
		return d.Zero
	case d.Base == 1000:
		return whole(n, 1000, "k", "M", "G", "T")
	case knob.Family(name) != "dev" && isBytes(name):
		return whole(n, 1024, "Ki", "Mi", "Gi")
	}
	return value
}

// Whole is [Value] where there is room for all three numbers of a vector.
func Whole(name, value string) string {
	if knob.DomainOf(name).Kind == knob.Vector && value != "" {
		return value
	}
	return Value(name, value)
}

// isBytes says whether a knob counts bytes. The MTU does too, but nobody writes 9000 as anything else.
func isBytes(name string) bool {
	doc, _ := knob.Lookup(name)
	return strings.HasPrefix(doc.Unit, "bytes")
}

// whole writes n in the largest unit that leaves no remainder, from 10 of the first unit on.
func whole(n, base int64, units ...string) string {
	text := strconv.FormatInt(n, 10)
	for i, u := range units {
		if n%base != 0 || (i == 0 && n < 10*base) || (i > 0 && n < base) {
			break
		}
		n /= base
		text = strconv.FormatInt(n, 10) + " " + u
	}
	return text
}

// Setting names a setting as the screen does: "tso off", "far mtu 9000".
func Setting(side, name, value string) string {
	text := knob.Short(name) + " " + Value(name, value)
	if side == string(knob.Far) {
		return "far " + text
	}
	return text
}

// rateUnits and timeUnits are steps of a thousand from bit/s and from microseconds.
var (
	rateUnits = []string{"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"}
	timeUnits = []string{"µs", "ms", "s"}
)

// Rate writes bit/s with its unit: "30.1 Gbit/s".
func Rate(bps metric.Num) string { return scaled(rateUnits, bps) }

// change writes "31.0 → 7.4 Gbit/s", both numbers in the unit of the larger.
func change(units []string, before, after metric.Num) string {
	n, unit := unitOf(units, math.Max(before.Or(0), after.Or(0)))
	return number(before, n) + " → " + number(after, n) + " " + unit
}

func scaled(units []string, v metric.Num) string {
	n, unit := unitOf(units, v.Or(0))
	return number(v, n) + " " + unit
}

// unitOf picks the unit that leaves v below a thousand, and what to divide by.
func unitOf(units []string, v float64) (div float64, unit string) {
	div = 1
	for _, u := range units[:len(units)-1] {
		if v/div < 1000 {
			return div, u
		}
		div *= 1000
	}
	return div, units[len(units)-1]
}

func number(v metric.Num, div float64) string {
	if v.IsZero() {
		return none
	}
	return chart.Number(v.Float() / div)
}

// lossChange writes "0.02 → 0.17 %".
func lossChange(before, after metric.Num) string {
	return chart.NumberLoss(before.Float()) + " → " + chart.NumberLoss(after.Float()) + " %"
}

// age writes how long ago something was, in whole seconds up to two minutes.
func age(s float64) string {
	if s < 120 {
		return fmt.Sprintf("%.0f s ago", math.Floor(s))
	}
	return fmt.Sprintf("%.0f min ago", math.Floor(s/60))
}
