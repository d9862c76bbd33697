package pane

import (
	"strings"

	"github.com/ethtune/ethtune/tune/knob"
)

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

// Ask asks for a [Confirm] before something is done.
type Ask struct {
	Title   string // the question
	Fact    string // beside it, where there is room
	Text    string // what it is about
	More    string // said after that where there is room
	Yes, No string // the answers
	Do      Intent // after yes
	About   int    // the guest it is about, with whom the question goes; 0 = none
}

// EndOf asks for the end of a guest's session.
type EndOf struct{ ID int }

func (Turn) intent()  {}
func (Leave) intent() {}
func (Say) intent()   {}
func (Ask) intent()   {}
func (EndOf) intent() {}

// Spans is the sentence as the help line shows it.
func (s Say) Spans() []Span {
	if !s.Bad {
		return []Span{{s.Text, 0}}
	}
	sign, st := Failed.look()
	return []Span{{sign + " ", st}, {strings.ReplaceAll(s.Text, "\n", "; "), 0}} // errors that came together are lines
}
