package pane

import (
	"fmt"
	"net"
	"strings"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
)

// Serving is what a server answers and what it could not: the first and the last but one row of its screen.
type Serving struct {
	Host string // this one
	Most int    // guests at once
	All  []metric.Listening
}

// DrawStatus paints the first row: who serves how many, and whether that is alive.
func (s *Serving) DrawStatus(b Brush, r Rect, c Condition, guests int) {
	lamp, word := c.look()
	sign, st := lamp.look()
	clients := fmt.Sprintf("%d clients", guests)
	if guests == 1 {
		clients = "1 client"
	}
	drawParts(b, r, []part{
		{3, false, []Span{{"ethtune", chart.Bold}}},
		{2, false, []Span{{"serve", 0}}},
		{4, false, []Span{{s.Host, 0}}},
		{1, false, []Span{{clients, 0}, {fmt.Sprintf(" of %d at most", s.Most), 0}}},
		{0, true, []Span{{" " + sign, st}, {" " + word, chart.Bold}}},
	})
}

// Draw paints what is served, then what is not and why.
func (s *Serving) Draw(b Brush, r Rect) {
	if r.Empty() {
		return
	}
	var on, off []string
	everywhere := true
	for _, l := range s.All {
		host, port, err := net.SplitHostPort(l.Addr)
		if err != nil {
			port = l.Addr
		}
		if l.Skipped != "" {
			off = append(off, l.Dialect+" skipped: "+skipped(l.Skipped, port))
			continue
		}
		where := port
		if host != "" && host != "::" && host != "0.0.0.0" {
			everywhere, where = false, l.Addr
		}
		on = append(on, l.Dialect+" "+where)
	}
	served := strings.Join(on, "  ")
	if everywhere && len(off) == 0 {
		served += ", on all addresses"
	}
	x := b.Text(r.X, r.Y, r.W, served, chart.Faint)
	if len(off) > 0 {
		b.Lamp(x+2, r.Y, Adjusted)
		room := r.Right() - x - 3
		x = b.Text(x+4, r.Y, room, b.brief(strings.Join(off, "; "), room), chart.Ink)
	}
	b.Line(Rect{x, r.Y, r.Right() + 1 - x, 1}, Span{"  changes nothing here", chart.Faint})
}

// skipped is why a dialect is not served, in brief: the last of the kernel's own words, but for the one everybody meets.
func skipped(why, port string) string {
	if strings.HasSuffix(why, "address already in use") {
		return "port " + port + " is taken"
	}
	return clean(lastWord(why))
}

// Invite is how somebody comes: the command for another host, for the first dialect that is served, with the port where it
// is not the usual one.
func (s *Serving) Invite() string {
	for _, l := range s.All {
		if l.Skipped != "" {
			continue
		}
		host, port, err := net.SplitHostPort(l.Addr)
		if err != nil || host == "" || host == "::" || host == "0.0.0.0" {
			host = s.Host
		}
		switch {
		case l.Dialect == "native" && port == "5202":
			return "ethtune tune " + host
		case l.Dialect == "native":
			return "ethtune tune " + net.JoinHostPort(host, port)
		case l.Dialect == "iperf3":
			return "iperf3 -c " + host + " -p " + port
		}
		return "iperf -c " + host + " -p " + port
	}
	return ""
}
