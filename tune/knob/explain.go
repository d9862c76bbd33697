package knob

import (
	"fmt"
	"strings"
)

// riskWords spells the classes of the catalogue.
var riskWords = []struct{ class, words string }{
	{"R0", "no packet lost"},
	{"R1", "a stall below a second, or a peak of CPU"},
	{"R2", "the link or the MAC resets: an outage of 0.1 to 5 s"},
	{"R3", "can lock you out until somebody is at the console"},
}

// Explain is the whole document as lines of "field: text", without the fields that are empty. A document that nobody has
// checked says so in its first line.
func (d Doc) Explain() string {
	var b strings.Builder
	line := func(field, text string) {
		if text != "" && text != "-" {
			fmt.Fprintf(&b, "%-10s%s\n", field, text)
		}
	}
	head := d.Help
	if d.Unverified() {
		head = "(unverified) " + head
	}
	line("knob", d.Key)
	line("what", head)
	line("also", strings.Join(d.Aliases, ", "))
	line("turns", strings.Join(d.Members, ", "))
	line("values", joinUnit(d.Range, d.Unit))
	line("default", d.Default)
	line("effect", d.Effect)
	line("risk", d.riskText())
	line("scope", d.Scope)
	line("watch", d.Metric)
	line("note", d.Note)
	line("source", d.Source)
	return b.String()
}

func (d Doc) riskText() string {
	for _, r := range riskWords {
		if strings.HasPrefix(d.Risk, r.class) {
			return d.Risk + ": " + r.words
		}
	}
	return d.Risk
}

func joinUnit(values, unit string) string {
	if unit == "" || values == "" {
		return values
	}
	return values + " (" + unit + ")"
}
