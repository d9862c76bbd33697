package pane

import (
	"slices"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
)

// GuestList is who takes part in a server's tests, in the order they came, with a cursor.
type GuestList struct {
	Invite string // how somebody comes, for the time when nobody is there

	all  []*guest
	at   int // the row under the cursor
	top  int // the first row in view
	page int // rows in view
}

// Add takes what is told of a guest, which came at the time at.
func (l *GuestList) Add(g *metric.Guest, at time.Time) {
	i := l.index(g.ID)
	switch {
	case g.Event == guestOut:
		if i >= 0 {
			l.remove(i)
		}
		return
	case i >= 0:
		l.all[i].take(g)
	case len(l.all) >= metric.MaxSessions:
		return
	default:
		i = len(l.all)
		l.all = append(l.all, newGuest(g))
	}
	l.all[i].speed.add(g, at)
}

// remove keeps the cursor on the guest it is on, or on the row if that guest has gone.
func (l *GuestList) remove(i int) {
	l.all = slices.Delete(l.all, i, i+1)
	if l.at > i {
		l.at--
	}
	l.move(0)
}

func (l *GuestList) index(id int) int {
	return slices.IndexFunc(l.all, func(g *guest) bool { return g.ID == id })
}

// Len is how many are there.
func (l *GuestList) Len() int { return len(l.all) }

// Here reports whether the guest of that id is there.
func (l *GuestList) Here(id int) bool { return l.index(id) >= 0 }

// Ending says whether the end of a guest's session was asked for.
func (l *GuestList) Ending(id int, asked bool) {
	if i := l.index(id); i >= 0 {
		l.all[i].ending = asked
	}
}

// Do carries out an action.
func (l *GuestList) Do(a Action) Intent {
	switch a {
	case RowUp:
		l.move(-1)
	case RowDown:
		l.move(+1)
	case PageUp:
		l.move(-l.page)
	case PageDown:
		l.move(l.page)
	case First:
		l.move(-len(l.all))
	case Last:
		l.move(len(l.all))
	case EndSession:
		return l.end()
	}
	return nil
}

func (l *GuestList) move(by int) { l.at = max(0, min(l.at+by, len(l.all)-1)) }

// end asks whether the session under the cursor is to be ended.
func (l *GuestList) end() Intent {
	if len(l.all) == 0 {
		return Say{Text: "Nobody is here: there is no session to end."}
	}
	g := l.all[l.at]
	if g.ending {
		return Say{Text: "The session of " + g.Peer + " is being ended."}
	}
	text := g.Dialect
	if load := g.load(); load != "" {
		text += ", " + load
	}
	if v := g.speed.in + g.speed.out; v == v {
		text += ", " + mbits(metric.N(v)) + " Mbit/s"
	}
	return Ask{
		Title: "End the session of " + l.name(g, maxWords) + "?", Fact: "here for " + g.stay(), Text: text + ".", More: "  The client is told and can come again.",
		Yes: "end it", No: "leave it", Do: EndOf{ID: g.ID}, About: g.ID,
	}
}
