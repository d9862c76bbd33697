package pane

import (
	"fmt"
	"math"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
)

// Link is two tables and a list: what passes the near interface beside what arrives of the load, where packets were
// dropped, and which processes use the processors most.
type Link struct {
	scale chart.Scale
	now   float64
	mark  int // that the drops are counted since, 0 = the start

	device  string
	speed   metric.Num // bit/s
	wire    [2]flowing // out, in
	refused [2]flowing // packets that the near interface dropped or found bad
	drops   [len(placeNames)]dropped
	top     []metric.Process
}

// placeNames are where packets of the load are dropped, in the order of their way.
var placeNames = [...]string{"sender", "path", "NIC", "softnet", "receiver socket"}

// flowing is a count turned into how many there are in a second.
type flowing struct {
	n    metric.Num // since the rate was reckoned
	span float64    // s
	rate metric.Num
	at   float64 // when it was reckoned
}

// add takes a count of span seconds, absent where it was not measured, up to the time at. An end that tells what it counted
// less often than that tells it of all the time since.
func (f *flowing) add(at float64, n metric.Num, span float64) {
	f.n, f.span = f.n.Add(n), f.span+span
	counted, ok := f.n.Get()
	switch {
	case ok && f.span >= wholeSecond:
		f.rate, f.at = metric.N(counted/f.span), at
		f.n, f.span = metric.Num{}, 0
	case !ok && f.span > fresh:
		f.span = 0
	}
}

// now is the rate, while it is one of now: a direction that is not driven any more has none.
func (f *flowing) now(at float64) metric.Num {
	if at-f.at > fresh {
		return metric.Num{}
	}
	return f.rate
}

// dropped is what one place dropped.
type dropped struct {
	flowing
	all metric.Num // since the mark
}

// NewLink returns empty tables.
func NewLink() *Link { return &Link{scale: chart.Scale{Unit: chart.BitRate}} }

// Add takes a record of the feed.
func (l *Link) Add(rec metric.Record) {
	switch r := rec.(type) {
	case *metric.Mark:
		if r.Outcome != metric.Pending && moved(r) {
			l.mark = r.N
			for i := range l.drops {
				l.drops[i].all = metric.Num{}
			}
		}
	case *metric.Frame:
		l.frame(r)
	}
}

func (l *Link) frame(f *metric.Frame) {
	span := f.Span
	if f.T == l.now {
		span = 0 // The Frame of the other direction has counted that time.
	}
	l.now = f.T
	l.dropsOf(f, span)
	if f.Host != nil {
		l.host(f.Host, f.Span)
	}
}

// host takes what the near host counted in span seconds. Its interface is counted whole, whatever direction is driven.
func (l *Link) host(h *metric.Host, span float64) {
	var wire, refused [2]metric.Num
	if n := h.NIC; n != nil {
		l.device = n.Device
		wire = [2]metric.Num{metric.N(8 * float64(n.TxBytes)), metric.N(8 * float64(n.RxBytes))}
		refused = [2]metric.Num{metric.N(float64(n.TxDropped + n.TxErrors)), metric.N(float64(n.RxDropped + n.RxErrors))}
	}
	for way := range wire {
		l.wire[way].add(l.now, wire[way], span)
		l.refused[way].add(l.now, refused[way], span)
	}
	if s := h.Slow; s != nil {
		l.speed = s.LinkBps
		l.top = append(l.top[:0], s.Top[:min(len(s.Top), topShown)]...)
	}
}

// dropsOf takes what a Frame says of its direction. Both directions count together.
func (l *Link) dropsOf(f *metric.Frame, span float64) {
	at := f.LostAt
	if at == nil {
		at = &metric.LostAt{}
	}
	for i, n := range [len(placeNames)]metric.Num{at.Sender, at.Path, at.NIC, f.SoftnetDrops, at.Socket} {
		d := &l.drops[i]
		d.add(f.T, n, span)
		d.all = d.all.Add(n)
	}
}

// Rows of the tables with the blank row between them, and of the list of processes.
const (
	topShown = 3
	LinkRows = 5 + 1 + 1 + len(placeNames)
	TopRows  = 1 + topShown
)

// Columns of the tables, counted from their left edge. Numbers end in theirs.
const (
	linkName  = 2
	linkFirst = 27
)

// Draw paints both tables. out and in are what arrives of the load either way, in bit/s; NaN where that is not known.
func (l *Link) Draw(b Brush, r Rect, out, in float64) {
	if r.Empty() {
		return
	}
	l.fit(out, in)
	x := b.Text(r.X, r.Y, r.W, "link", chart.Bold)
	b.Text(x+1, r.Y, r.X+linkFirst-5-x, l.device, chart.Faint)
	l.heads(b, r.Row(0), "out", "in")
	unit := " " + l.scale.UnitText()
	b.Text(r.X+linkName, r.Y+1, r.W-linkName, "speed", chart.Ink)
	b.Ending(r.Right(), r.Y+1, speedText(l.speed), chart.Ink)
	l.row(b, r.Row(2), "on the wire"+unit, l.scale.Number, l.wire[0].now(l.now).Float(), l.wire[1].now(l.now).Float())
	l.row(b, r.Row(3), "goodput"+unit, l.scale.Number, out, in)
	l.row(b, r.Row(4), "dropped here /s", counted, l.refused[0].now(l.now).Float(), l.refused[1].now(l.now).Float())

	b.Text(r.X, r.Y+6, r.W, "drops by place", chart.Bold)
	since := "since start"
	if l.mark > 0 {
		since = fmt.Sprintf("since %d", l.mark)
	}
	l.heads(b, r.Row(6), "/s", since)
	for i, name := range placeNames {
		d := &l.drops[i]
		l.row(b, r.Row(7+i), name, counted, d.now(l.now).Float(), d.all.Float())
	}
}

// fit chooses the unit of the rates, which stays as that of a chart does.
func (l *Link) fit(out, in float64) {
	most := 0.0
	for _, v := range [...]float64{l.wire[0].now(l.now).Float(), l.wire[1].now(l.now).Float(), out, in} {
		if v > most {
			most = v
		}
	}
	if most > 0 {
		l.scale.Fit(l.now, 0, most)
	}
}

func (l *Link) heads(b Brush, r Rect, first, second string) {
	b.Ending(r.X+linkFirst, r.Y, first, chart.Faint)
	b.Ending(r.Right(), r.Y, second, chart.Faint)
}

func (l *Link) row(b Brush, r Rect, name string, text func(float64) string, first, second float64) {
	b.Text(r.X+linkName, r.Y, linkFirst-linkName, name, chart.Ink)
	b.Ending(r.X+linkFirst, r.Y, text(first), chart.Ink)
	b.Ending(r.Right(), r.Y, text(second), chart.Ink)
}

// DrawTop paints the processes that use the processors most.
func (l *Link) DrawTop(b Brush, r Rect) {
	if r.Empty() || len(l.top) == 0 {
		return
	}
	b.Text(r.X, r.Y, r.W, "processes", chart.Bold)
	b.Ending(r.X+linkFirst, r.Y, "pid", chart.Faint)
	b.Ending(r.Right(), r.Y, "cpu %", chart.Faint)
	for i, p := range l.top[:min(len(l.top), r.H-1)] {
		y := r.Y + 1 + i
		pid := fmt.Sprint(p.PID)
		b.Text(r.X+linkName, y, linkFirst-linkName-len(pid), p.Name, chart.Ink)
		b.Ending(r.X+linkFirst, y, pid, chart.Faint)
		b.Ending(r.Right(), y, chart.Number(p.Pct), chart.Ink)
	}
}

// speedText writes the speed of a link as it is sold: "100 Gbit/s".
func speedText(bps metric.Num) string {
	v, ok := bps.Get()
	if !ok || v < 1 || v > math.MaxInt64/2 {
		return none
	}
	return whole(int64(v), 1000, "k", "M", "G", "T") + "bit/s"
}

// counted is [count] for a number that may be absent. Something that happened is never 0.
func counted(n float64) string {
	switch {
	case n != n:
		return none
	case n > 0:
		n = max(n, 1)
	}
	return count(n)
}

// memoryText writes bytes in steps of 1024: "1.9 Mi".
func memoryText(bytes metric.Num) string {
	v := bytes.Float()
	if v != v {
		return none
	}
	i := 0
	units := [...]string{"B", "Ki", "Mi", "Gi", "Ti"}
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	return chart.Number(v) + " " + units[i]
}
