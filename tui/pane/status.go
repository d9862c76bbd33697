package pane

import (
	"fmt"
	"strconv"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
)

// Status is the first row: whom the traffic goes to and how, what it costs here, and whether it is alive.
type Status struct {
	Title   string
	Granted metric.Granted
	Spec    metric.Spec // kept current by [Status.Follow]

	cpu, self      metric.Num
	cwnd           metric.Num // bytes, of all streams of the way that is shown together
	txMode, rxMode string     // how its UDP calls are made
}

// Condition is how the run stands.
type Condition uint8

// The conditions. Only those that change what is seen are in capitals.
const (
	Starting Condition = iota
	Running
	Frozen
	Lost
)

func (c Condition) look() (lamp Lamp, word string) {
	switch c {
	case Running:
		return Live, "live"
	case Frozen:
		return Live, "FROZEN"
	case Lost:
		return Failed, "LOST"
	}
	return Pending, "starting"
}

// Add takes a record of the feed.
func (s *Status) Add(rec metric.Record) {
	if f, ok := rec.(*metric.Frame); ok {
		if !f.CPU.IsZero() {
			s.cpu = f.CPU
		}
		if !f.SelfCPU.IsZero() {
			s.self = f.SelfCPU
		}
		if f.Dir == metric.Out || s.Spec.Mode == metric.ModeIn {
			s.cwnd, s.txMode, s.rxMode = f.CwndBytes, f.TxMode, f.RxMode
		}
	}
}

// Follow takes over what the knobs of the load say now, which may have been turned since it was started. value gives the
// value of an engine knob, empty where it was not read.
func (s *Status) Follow(value func(name string) string) {
	if v := value("engine.protocol"); v != "" {
		s.Spec.Proto = metric.Proto(v)
	}
	if v := value("engine.mode"); v != "" {
		s.Spec.Mode = metric.Mode(v)
	}
	if n, err := strconv.Atoi(value("engine.streams")); err == nil {
		s.Spec.Streams = n
	}
	if n, err := strconv.ParseInt(value("engine.rate"), 10, 64); err == nil {
		s.Spec.RateBps = n
	}
}

// part is one word group of the status row. The one with the highest rank is dropped first when there is no room.
type part struct {
	rank  int
	right bool
	spans []Span
}

func (p part) width(b Brush) int {
	n := 0
	for _, s := range p.spans {
		n += b.Width(s.Text)
	}
	return n
}

func (s *Status) parts(c Condition) []part {
	lamp, word := c.look()
	sign, st := lamp.look()
	ps := []part{
		{7, false, []Span{{"ethtune", chart.Bold}}},
		{1, false, []Span{{s.Title, 0}}},
		{5, false, []Span{{s.Granted.Dialect, 0}}},
		{2, false, []Span{{s.Load(), 0}}},
		{6, false, []Span{{s.rate(), 0}}},
		{8, false, []Span{{s.Granted.Near.Congestion, 0}}},
		{3, true, percent("cpu", s.cpu)},
		{4, true, percent("self", s.self)},
		{0, true, []Span{{" " + sign, st}, {" " + word, chart.Bold}}},
	}
	out := ps[:0]
	for _, p := range ps {
		if p.width(Brush{}) > 0 {
			out = append(out, p)
		}
	}
	return out
}

func percent(name string, v metric.Num) []Span {
	if v.IsZero() {
		return nil
	}
	text := chart.Number(v.Float())
	if name == "cpu" {
		text = fmt.Sprintf("%.0f", v.Float())
	}
	return []Span{{name, chart.Faint}, {" " + text + " %", 0}}
}

// Load is the traffic in a few words: "tcp ×4 → far".
func (s *Status) Load() string {
	way := map[metric.Mode]string{metric.ModeOut: " → far", metric.ModeIn: " from far", metric.ModeBoth: " both ways"}[s.Spec.Mode]
	if s.Spec.Streams == 1 {
		return string(s.Spec.Proto) + way
	}
	return fmt.Sprintf("%s ×%d%s", s.Spec.Proto, s.Spec.Streams, way)
}

func (s *Status) rate() string {
	if s.Spec.RateBps == 0 {
		return "max rate"
	}
	return Rate(metric.N(float64(s.Spec.RateBps))) + " each"
}

// inside is what the sockets do: the congestion windows, or how datagrams are handed over on both ends.
func (s *Status) inside() string {
	switch {
	case s.Spec.Proto == metric.TCP && !s.cwnd.IsZero():
		return "cwnd " + memoryText(s.cwnd)
	case s.txMode != "" && s.rxMode != "":
		return s.txMode + " → " + s.rxMode
	}
	return s.txMode + s.rxMode
}

// insideWidth is the width from which the row has room for that beside what it says at the design size.
const insideWidth = 110

// Draw paints the row.
func (s *Status) Draw(b Brush, r Rect, c Condition) {
	parts := s.parts(c)
	if text := s.inside(); text != "" && r.W >= insideWidth {
		parts = append(parts, part{9, false, []Span{{text, 0}}})
	}
	drawParts(b, r, parts)
}

// drawParts paints the left parts from the left and the right ones to the right edge, without those of the highest ranks
// that there is no room for.
func drawParts(b Brush, r Rect, parts []part) {
	const gap = 2
	for total(b, parts, gap) > r.W && len(parts) > 1 {
		worst := 0
		for i, p := range parts {
			if p.rank > parts[worst].rank {
				worst = i
			}
		}
		parts = append(parts[:worst], parts[worst+1:]...)
	}
	x, right := r.X, 0
	for _, p := range parts {
		if p.right {
			right += p.width(b) + gap
		} else {
			x = b.Spans(x, r.Y, r.Right()+1-x, p.spans...) + gap
		}
	}
	x = max(r.X, r.Right()+1-right+gap)
	for _, p := range parts {
		if p.right {
			x = b.Spans(x, r.Y, r.Right()+1-x, p.spans...) + gap
		}
	}
}

func total(b Brush, parts []part, gap int) int {
	n := -gap
	for _, p := range parts {
		n += p.width(b) + gap
	}
	return n
}
