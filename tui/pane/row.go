package pane

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tune/knob"
)

// order is what stands first in the knob list: the features people turn, the device, the sockets, the load.
var order = []string{
	"feature.tso", "feature.tx-generic-segmentation", "feature.rx-gro", "feature.tx-scatter-gather", "feature.tx",
	"feature.rx-checksum", "feature.rx-lro", "dev.mtu", "dev.tx_queue_len",
	"socket.sndbuf", "socket.rcvbuf", "socket.congestion",
	"engine.rate", "engine.streams", "engine.size", "engine.mode", "engine.protocol",
}

// row is one knob at both ends.
type row struct {
	name      string
	near, far *knob.State // nil where that end has no such knob
	head      string      // the heading it stands under
	story     *story      // nil until something happened to it
}

// story is what happened to one knob.
type story struct {
	last   metric.Mark   // newest closed mark that turned it; N is 0 without one
	beside int           // newest mark that moved it as a side effect; 0 without one
	asked  *knob.Setting // asked for and not yet answered
}

// rowsOf makes the list of a reading: first what people turn most, then whatever else can be turned, then the rest.
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
		if s.Side == knob.Far {
			r.far = s
		} else {
			r.near = s
		}
	}
	for _, r := range rows {
		r.head = heading(r)
	}
	slices.SortStableFunc(rows, func(a, b *row) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.name, b.name))
	})
	return rows
}

// rank is where a row stands; what is not in order follows it, and what cannot be turned comes last.
func rank(r *row) int {
	if i := slices.Index(order, r.name); i >= 0 {
		return i
	}
	if r.fixed() != "" {
		return len(order) + 1
	}
	return len(order)
}

func heading(r *row) string {
	family := knob.Family(r.name)
	switch {
	case slices.Contains(order, r.name) && family == "feature":
		return "features"
	case slices.Contains(order, r.name) && family == "engine":
		return "load"
	case slices.Contains(order, r.name):
		return family
	case r.fixed() != "":
		return "fixed"
	case family == "feature":
		return "more features"
	}
	return "more"
}

// at is the knob at one end, nil where it is not there. A knob of the whole host is the same from both.
func (r *row) at(side knob.Side) *knob.State {
	if side == knob.Far {
		if r.far == nil && r.near != nil && r.near.Side == knob.Host {
			return r.near
		}
		return r.far
	}
	return r.near
}

// fixed is why the knob cannot be turned at either end; empty where it can at one.
func (r *row) fixed() string {
	switch {
	case r.near == nil && r.far == nil:
		return "not supported"
	case r.near == nil:
		return r.far.Fixed
	case r.far == nil:
		return r.near.Fixed
	case r.far.Fixed == "":
		return ""
	}
	return r.near.Fixed
}

// changed reports whether it was turned, moved or is about to be.
func (r *row) changed() bool {
	return r.story != nil && (r.story.last.N > 0 || r.story.beside > 0 || r.story.asked != nil)
}

// state is the lamp and the words that say how the knob stands, decided by what was read back.
func (r *row) state() (Lamp, string, chart.Style) {
	if s := r.story; s != nil {
		if lamp, words := s.words(); words != "" {
			return lamp, words, chart.Ink
		}
	}
	for _, s := range []*knob.State{r.near, r.far} {
		if s != nil && s.Wanted != "" && s.Wanted != s.Value {
			return Adjusted, "asked " + Value(r.name, s.Wanted) + ", is " + Value(r.name, s.Value), chart.Ink
		}
	}
	if f := r.fixed(); f != "" {
		return Dark, f, chart.Faint
	}
	if r.near != nil && r.near.Side == knob.Host {
		return Dark, "host-wide", chart.Faint
	}
	return Dark, "", chart.Ink
}

// words tell the newest thing that happened.
func (s *story) words() (Lamp, string) {
	if s.asked != nil {
		return Pending, "pending → " + Value(s.asked.Knob, s.asked.Value)
	}
	if s.beside > s.last.N {
		return Adjusted, fmt.Sprintf("side effect of %d", s.beside)
	}
	if s.last.N == 0 {
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
