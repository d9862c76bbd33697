package pane

import (
	"fmt"
	"strings"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
)

// keepVisits bounds the log: more than any screen has rows.
const keepVisits = 200

// Visits is the log of a server: who came and who went, and why. The newest is at the top.
type Visits struct {
	Came int // guests since the server began

	ring []*visit // oldest first
}

// visit is one line of the log.
type visit struct {
	time  time.Time
	guest guest
	out   bool // it tells of the end
}

// Add takes what is told of a guest. What it drives is not known when it comes, and is filled in when it is.
func (v *Visits) Add(g *metric.Guest) {
	came := v.came(g.ID)
	switch {
	case g.Event == guestOut:
		e := &visit{time: g.Time, guest: *newGuest(g), out: true}
		if came != nil {
			e.guest.ending = came.guest.ending
		}
		v.push(e)
	case came != nil:
		came.guest.take(g)
	case g.Event == guestIn:
		v.Came++
		v.push(&visit{time: g.Time, guest: *newGuest(g)})
	}
}

func (v *Visits) push(e *visit) {
	if v.ring = append(v.ring, e); len(v.ring) > keepVisits {
		v.ring = append(v.ring[:0], v.ring[1:]...)
	}
}

// came is the line of the guest's coming, nil where there is none any more.
func (v *Visits) came(id int) *visit {
	for _, e := range v.ring {
		if e.guest.ID == id && !e.out {
			return e
		}
	}
	return nil
}

// Ending says whether the end of a guest's session was asked for from here.
func (v *Visits) Ending(id int, asked bool) {
	if e := v.came(id); e != nil {
		e.guest.ending = asked
	}
}

// forms are what a line says, the longest first.
func (e *visit) forms() []string {
	g := &e.guest
	if !e.out {
		return g.opened()
	}
	what := g.Dialect
	if g.Proto != "" {
		what += " " + g.streams()
	}
	end := " ended"
	if g.ending {
		end = " ended by k"
	}
	rate := ""
	if v := g.mean(); v.Or(0) > 0 {
		rate = ", " + mbits(v) + " Mbit/s"
	}
	loss := ""
	if p := g.Packets.Or(0); p > 0 {
		loss = fmt.Sprintf(", lost %s of %s", count(g.Lost.Or(0)), count(p))
	}
	if g.Reason != "" && !g.ending {
		// The kernel's own word is the last of an error that says where as well.
		word := lastWord(g.Reason)
		return []string{what + end + rate + ": " + g.Reason, what + end + ": " + g.Reason, what + end + rate + ": " + word, what + end + ": " + word}
	}
	return []string{what + end + rate + loss, what + end + rate, g.Dialect + end}
}

// lastWord is what an error that says where and what says last.
func lastWord(why string) string {
	if i := strings.LastIndex(why, ": "); i >= 0 {
		return why[i+2:]
	}
	return why
}

// opened says what began, and who sends.
func (n *guest) opened() []string {
	text := n.Dialect + " opened"
	if n.Proto == "" {
		return []string{text}
	}
	long := text + ", " + n.streams()
	who := map[metric.Mode]string{metric.ModeOut: ", it sends", metric.ModeIn: ", we send", metric.ModeBoth: ", both send"}[n.Mode]
	return []string{long + who, long, text}
}

// count writes a number of packets: "12", "811 k".
func count(n float64) string {
	switch {
	case n >= 1e10:
		return fmt.Sprintf("%.0f G", n/1e9)
	case n >= 1e7:
		return fmt.Sprintf("%.0f M", n/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.0f k", n/1e3)
	}
	return fmt.Sprintf("%.0f", n)
}

// Columns of the log: times, addresses, and what happened below the loads of the list.
const (
	visitTime = 2
	visitPeer = 12
	visitText = 28
)

// Len is how many lines there are.
func (v *Visits) Len() int { return len(v.ring) }

// Draw paints a head and as many of the newest lines as there is room for.
func (v *Visits) Draw(b Brush, r Rect) {
	if r.Empty() {
		return
	}
	b.Text(r.X, r.Y, r.W, "log", chart.Bold)
	for i := range min(r.H-1, len(v.ring)) {
		v.ring[len(v.ring)-1-i].draw(b, r.Row(1+i))
	}
}

func (e *visit) draw(b Brush, r Rect) {
	b.Text(r.X+visitTime, r.Y, r.W-visitTime, e.time.Format(time.TimeOnly), chart.Faint)
	b.Text(r.X+visitPeer, r.Y, r.W-visitPeer, b.brief(e.guest.host, visitText-visitPeer-1), chart.Ink)
	room := r.W - visitText
	forms := e.forms()
	text := forms[len(forms)-1]
	for _, f := range forms {
		if b.Width(f) <= room {
			text = f
			break
		}
	}
	b.Text(r.X+visitText, r.Y, room, b.brief(text, room), chart.Ink)
}
