package pane

import (
	"strconv"
	"strings"

	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tune/knob"
)

// fieldNames are the three numbers of a vector such as tcp_rmem.
var fieldNames = [...]string{"min", "default", "max"}

// longestField is how much can be typed into one field, in characters: more than any number has.
const longestField = 20

// vectorEditor is three numbers being typed at once, because the kernel takes them in one write.
type vectorEditor struct {
	open  bool
	texts [len(fieldNames)]string
	at    int    // the field that keys go to
	fresh bool   // the field is as it was entered: typing replaces it
	wrong string // why the texts were not taken, until the next key
}

// start opens the editor on the greatest, which is the one that is turned.
func (v *vectorEditor) start(value string) {
	*v = vectorEditor{open: true, at: len(fieldNames) - 1, fresh: true}
	copy(v.texts[:], strings.Fields(value))
}

func (v *vectorEditor) stop() { *v = vectorEditor{} }

// press takes a key by its name, and the text it stands for where it is a character.
func (v *vectorEditor) press(d knob.Domain, name, typed string) {
	v.wrong = ""
	switch name {
	case "left", "shift+tab":
		v.goTo(v.at - 1)
	case "right", "tab":
		v.goTo(v.at + 1)
	case "-":
		v.step(d, -1)
	case "+", "=":
		v.step(d, +1)
	case "ctrl+u":
		v.set("")
	case "backspace":
		if v.fresh {
			v.set("")
		} else if t := v.texts[v.at]; t != "" {
			v.set(t[:len(t)-1])
		}
	default:
		v.write(typed)
	}
}

// write appends what is typed. A blank or a comma leads to the next field, so that a vector can be pasted whole.
func (v *vectorEditor) write(typed string) {
	for _, r := range typed {
		switch {
		case r == ' ' || r == ',':
			if v.at < len(fieldNames)-1 {
				v.goTo(v.at + 1)
			}
		case r > ' ' && r < 0x7f:
			if v.fresh {
				v.set("")
			}
			if t := v.texts[v.at]; len(t) < longestField {
				v.set(t + string(r))
			}
		}
	}
}

func (v *vectorEditor) set(text string) { v.texts[v.at], v.fresh = text, false }

// goTo enters a field; after the last comes the first.
func (v *vectorEditor) goTo(field int) {
	v.at, v.fresh = (field+len(fieldNames))%len(fieldNames), true
}

// step doubles or halves the field.
func (v *vectorEditor) step(d knob.Domain, by int) {
	one := knob.Domain{Kind: knob.Number, Max: d.Max, Base: d.Base}
	text, err := one.Canonical(v.texts[v.at])
	if err != nil {
		v.wrong = err.Error()
		return
	}
	n, _ := strconv.ParseInt(text, 10, 64) // Canonical lets nothing else through.
	lo, hi := limits(d)
	v.texts[v.at] = strconv.FormatInt(clamp(twice(n, by), lo, hi), 10)
	v.fresh = true
}

// typed is the vector as it would be typed on a command line.
func (v *vectorEditor) typed() string { return strings.Join(v.texts[:], ",") }

// spans is the line being typed: the field that keys go to is reversed until something is typed into it.
func (v *vectorEditor) spans() []Span {
	var out []Span
	for i, text := range v.texts {
		if i > 0 {
			out = append(out, Span{" ", chart.Ink})
		}
		switch {
		case i != v.at:
			out = append(out, Span{text, chart.Ink})
		case v.fresh:
			out = append(out, Span{text, chart.Reverse})
		default:
			out = append(out, Span{text, chart.Ink}, cursorSign)
		}
	}
	out = append(out, Span{"  ", chart.Ink})
	if v.wrong != "" {
		sign, st := Failed.look()
		return append(out, Span{sign + " ", st}, Span{v.wrong, chart.Ink})
	}
	return append(out, Span{fieldNames[v.at], chart.Ink},
		Span{"  enter", chart.Bold}, Span{" set", chart.Faint}, Span{"  esc", chart.Bold}, Span{" back", chart.Faint},
		Span{"  tab next", chart.Faint}, Span{"  - + step", chart.Faint})
}
