package pane

import "github.com/ethtune/ethtune/tune/knob"

// Intent is what a pane wants done after a key; nil where the pane dealt with it.
type Intent interface{ intent() }

// Turn asks for settings to be made.
type Turn struct{ Plan knob.Plan }

// Say asks for a sentence on the help line, until the next key.
type Say struct {
	Text string
	Bad  bool // something was refused
}

// Leave asks for the end of the screen; what would outlive the run is kept first, or put back afterwards.
type Leave struct{ Keep bool }

func (Turn) intent()  {}
func (Leave) intent() {}
func (Say) intent()   {}

// Spans is the sentence as the help line shows it.
func (s Say) Spans() []Span {
	if !s.Bad {
		return []Span{{s.Text, 0}}
	}
	sign, st := Failed.look()
	return []Span{{sign + " ", st}, {s.Text, 0}}
}
