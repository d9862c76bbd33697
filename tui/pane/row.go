package pane

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tune/knob"
)

// row is one knob at both ends, or of the host that they share.
type row struct {
	name            string
	near, far, host *knob.State // nil where there is no such knob
	head            string      // the heading it stands under
	story           *story      // nil until something happened to it
}

// story is what happened to one knob.
type story struct {
	last   metric.Mark   // newest closed mark that turned it; N is 0 without one
	beside int           // newest mark that moved it as a side effect; 0 without one
	asked  *knob.Setting // asked for and not yet answered
	other  *knob.Change  // what somebody else did to it since; nil = nothing
}

// rowsOf gathers a reading into rows, in the order of the reading.
func rowsOf(states []knob.State, stories map[string]*story) []*row {
	byName := make(map[string]*row)
	var rows []*row
	for i := range states {
		s := &states[i]
		r := byName[s.Knob]
		if r == nil {
			r = &row{name: s.Knob, story: stories[s.Knob]}
			byName[s.Knob] = r
			rows = append(rows, r)
		}
		switch s.Side {
		case knob.Far:
			r.far = s
		case knob.Host:
			r.host = s
		default:
			r.near = s
		}
	}
	for _, r := range rows {
		r.head = heading(r)
	}
	return rows
}

// at is the knob at one end, nil where it is not there. A knob of the whole host is the same from both; what a namespace
// shows of it is a copy.
func (r *row) at(side knob.Side) *knob.State {
	switch {
	case r.host != nil:
		return r.host
	case side == knob.Far:
		return r.far
	}
	return r.near
}

// columns are the states whose values are shown, nil where a column is empty.
func (r *row) columns() (near, far *knob.State) {
	if r.host != nil {
		return r.host, nil
	}
	return r.near, r.far
}

// fixed is why the knob cannot be turned at either end; empty where it can at one.
func (r *row) fixed() string {
	switch near, far := r.columns(); {
	case near == nil && far == nil:
		return "not supported"
	case near == nil:
		return far.Fixed
	case far == nil:
		return near.Fixed
	case far.Fixed == "":
		return ""
	default:
		return near.Fixed
	}
}

// changed reports whether it was turned, moved or is about to be.
func (r *row) changed() bool {
	s := r.story
	return s != nil && (s.last.N > 0 || s.beside > 0 || s.asked != nil || s.other != nil)
}

// state is the lamp and the words that say how the knob stands, decided by what was read back.
func (r *row) state() (Lamp, string, chart.Style) {
	if s := r.story; s != nil {
		if lamp, words := s.words(); words != "" {
			return lamp, words, chart.Ink
		}
	}
	near, far := r.columns()
	for _, s := range []*knob.State{near, far} {
		if s != nil && s.Wanted != "" && s.Wanted != s.Value {
			return Adjusted, "asked " + Value(r.name, s.Wanted) + ", is " + Value(r.name, s.Value), chart.Ink
		}
	}
	if f := r.fixed(); f != "" {
		return Dark, inBrief(f), chart.Faint
	}
	if r.host != nil {
		return Dark, "host-wide", chart.Faint
	}
	return Dark, "", chart.Ink
}

// inBrief is why a knob is fixed in the room of the state column. The help line has the whole reason.
func inBrief(fixed string) string {
	if fixed == knob.NeedsAdmin {
		return "not permitted"
	}
	short, _, _ := strings.Cut(fixed, ": ")
	return short
}

// words tell the newest thing that happened.
func (s *story) words() (Lamp, string) {
	switch {
	case s.asked != nil:
		return Pending, "pending → " + Value(s.asked.Knob, s.asked.Value)
	case s.other != nil:
		return Adjusted, "changed by another"
	case s.beside > s.last.N:
		return Adjusted, fmt.Sprintf("side effect of %d", s.beside)
	case s.last.N == 0:
		return Dark, ""
	}
	switch knob.Outcome(s.last.Outcome) {
	case knob.Adjusted:
		return Adjusted, "adjusted by kernel"
	case knob.Partial:
		return Adjusted, "turned in part"
	case knob.Refused:
		return Failed, "refused"
	}
	far := ""
	if s.last.Side == string(knob.Far) {
		far = "far "
	}
	return Dark, fmt.Sprintf("%sturned at %d", far, s.last.N)
}

// expected is what the kernel will say once it has answered, so that keys that come faster than answers add up.
func (s *story) expected(now knob.State) knob.State {
	if s == nil || s.asked == nil || s.asked.Side != now.Side {
		return now
	}
	now.Value = s.asked.Value
	if n, err := strconv.ParseInt(now.Value, 10, 64); err == nil && doubled(now.Knob) {
		now.Value = strconv.FormatInt(2*n, 10)
	}
	return now
}
