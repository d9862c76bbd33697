package pane

import (
	"fmt"
	"strings"

	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tune/knob"
)

// cursorSign ends the text being typed.
var cursorSign = Span{" ", chart.Reverse}

// Help is the line about the selected knob, or the line being typed.
func (k *KnobList) Help() []Span {
	if k.find.open {
		return []Span{{"filter ", chart.Bold}, {k.find.text, chart.Ink}, cursorSign,
			{"  enter", chart.Bold}, {" keep", chart.Faint}, {"  esc", chart.Bold}, {" show all", chart.Faint}}
	}
	r := k.row()
	if r == nil {
		return nil
	}
	name := knob.Short(r.name)
	if k.sideOf(r) == knob.Far {
		name = "far " + name
	}
	spans := []Span{{name + " ", chart.Bold}}
	switch {
	case k.three.open:
		return append(spans, k.three.spans()...)
	case k.edit.open:
		return append(spans, k.editing(r)...)
	}
	if text, lamp := r.trouble(); text != "" {
		sign, st := lamp.look()
		return append(spans, Span{sign + " ", st}, Span{text, chart.Ink})
	}
	if f := r.fixed(); f != "" {
		return append(spans, Span{f + ".", chart.Ink}, Span{"  " + describe(r.name), chart.Faint})
	}
	spans = append(spans, Span{describe(r.name), chart.Ink})
	if st := r.at(k.side); st != nil && knob.DomainOf(r.name).Kind == knob.Vector {
		spans = append(spans, Span{"  " + st.Value, chart.Faint}) // the list has room for the greatest only
	}
	return spans
}

func (k *KnobList) editing(r *row) []Span {
	out := []Span{{k.edit.text, chart.Ink}, cursorSign, {"  ", chart.Ink}}
	if k.edit.wrong != "" {
		sign, st := Failed.look()
		return append(out, Span{sign + " ", st}, Span{k.edit.wrong, chart.Ink})
	}
	return append(out, Span{"enter", chart.Bold}, Span{" set  ", chart.Faint}, Span{"esc", chart.Bold}, Span{" back  ", chart.Faint},
		Span{takes(r.at(k.side), r.name), chart.Faint})
}

// takes says what may be typed.
func takes(s *knob.State, name string) string {
	d := knob.DomainOf(name)
	switch {
	case d.Kind == knob.Switch:
		return "on or off"
	case s != nil && len(s.Offers) > 0:
		return strings.Join(s.Offers, " ")
	case d.Kind == knob.Choice:
		return strings.Join(d.Words, " ")
	case d.Kind == knob.Number:
		lo, hi := limits(d)
		if s != nil {
			lo, hi = bounds(*s, d)
		}
		text := Value(name, fmt.Sprint(lo)) + " to " + Value(name, fmt.Sprint(hi))
		if d.Zero != "" {
			text = d.Zero + " or " + text
		}
		return text
	}
	return ""
}

// trouble is what the last turn of the knob ran into, in the kernel's own words where it has some.
func (r *row) trouble() (string, Lamp) {
	s := r.story
	if s != nil && s.asked == nil && s.other != nil {
		return "changed by another: " + Whole(r.name, s.other.From) + " → " + Whole(r.name, s.other.To), Adjusted
	}
	if s == nil || s.asked != nil || s.last.N == 0 || s.beside > s.last.N {
		return "", Dark
	}
	asked, got := Whole(r.name, s.last.Asked), Whole(r.name, s.last.Got)
	reason := ""
	if s.last.Reason != "" {
		reason = ": " + s.last.Reason
	}
	switch knob.Outcome(s.last.Outcome) {
	case knob.Refused:
		return "asked " + asked + ", refused" + reason, Failed
	case knob.Adjusted, knob.Partial:
		return "asked " + asked + ", got " + got + reason, Adjusted
	}
	return "", Dark
}

// helpRoom is from what length on a sentence leaves no room for the long form of its risk at the design size.
const helpRoom = 52

// describe is the catalogue's sentence, or the canonical name where it has none.
func describe(name string) string {
	doc, ok := knob.Lookup(name)
	if !ok {
		return name + ", not in the catalogue."
	}
	text := doc.Help
	switch {
	case doc.Unverified():
		text += " Unverified."
	case doc.CutsLink() && len(text) < helpRoom:
		text += " May cut the link."
	case doc.CutsLink():
		text += " Risky."
	}
	return text
}
