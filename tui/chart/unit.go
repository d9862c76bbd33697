package chart

// Unit is what an axis counts. Values are in its base: bit/s, seconds, percent, or a plain number.
type Unit uint8

// The units.
const (
	Plain     Unit = iota
	BitRate        // bit/s, shown as kbit/s Mbit/s Gbit/s Tbit/s
	Seconds        // s, shown as µs ms s
	Percent        // 0-100, shown with two decimals
	Share          // 0-100, shown as any other number: of time, where hundredths say nothing
	PerSecond      // events a second, shown as /s k/s M/s
)

// unitStep is one of the names a unit goes by.
type unitStep struct {
	size float64 // in the base unit
	name string
}

var unitSteps = [...][]unitStep{
	Plain:   {{1, ""}},
	BitRate: {{1e3, "kbit/s"}, {1e6, "Mbit/s"}, {1e9, "Gbit/s"}, {1e12, "Tbit/s"}},
	Seconds: {{1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}},
	Percent: {{1, "%"}},
	Share:   {{1, "%"}},

	PerSecond: {{1, "/s"}, {1e3, "k/s"}, {1e6, "M/s"}},
}

func (u Unit) steps() []unitStep {
	if int(u) >= len(unitSteps) {
		u = Plain
	}
	return unitSteps[u]
}

func (u Unit) at(step int) unitStep {
	s := u.steps()
	return s[min(max(step, 0), len(s)-1)]
}

// A linear axis is named so that its top is at most 2000 of the unit (1351 Mbit/s, not 1.4 Gbit/s) and keeps the name down
// to a top of more than one. An axis of decades goes to 10000 and wants its floor readable as well.
const (
	mostLinear = 2000
	mostLog    = 10000
	leastLog   = 0.1
	slack      = 1e-3 // for what division by the unit leaves behind
)

// step chooses the name for an axis from lo to hi and stays with the old one (-1: none) while its numbers are readable.
func (u Unit) step(old int, lo, hi float64) int {
	steps := u.steps()
	log, most := lo > 0, float64(mostLinear)
	if log {
		most = mostLog
	}
	fits := func(s unitStep) bool { return hi/s.size <= most*(1+slack) }
	if old >= 0 && old < len(steps) && fits(steps[old]) {
		s := steps[old]
		if log && lo/s.size >= leastLog*(1-slack) || !log && hi/s.size > 1+slack {
			return old
		}
	}
	for i, s := range steps {
		if fits(s) {
			return i
		}
	}
	return len(steps) - 1
}

// bounds are the least and the greatest end an axis has: a loss chart that is empty still shows what 2 % would be, an axis
// of times begins at 1 µs, below which there is only the scatter of the stamps, a few events a second are few, and the
// greatest keep labels at 5 cells.
func (u Unit) bounds() (least, most float64) {
	switch u {
	case BitRate:
		return 1e3, 1e15
	case Seconds:
		return 1e-6, 1e4
	case Percent:
		return 2, 100
	case Share:
		return 100, 100
	case PerSecond:
		return 10, 1e9
	}
	return 1, 1e9
}

// idle is a value that makes the axis of a screen without data look like what is to come.
func (u Unit) idle() float64 {
	switch u {
	case BitRate:
		return 1e9
	case Seconds:
		return 1e-6
	}
	return 1
}
