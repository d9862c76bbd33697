package pane

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
)

const (
	// heatKeep is how many readings of a processor a heat row can look back on one by one: an hour of one a second.
	heatKeep = 3600
	// rankWeight is how much one reading counts in the rank of a processor: about five seconds of them make it.
	rankWeight = 0.2
	// rankLead is by how many percent of its time a processor must be busier than one before it to take its place, so that
	// rows do not come and go between two that are equally busy.
	rankLead = 10
	// boldShare is the share of a processor's time, in percent, that is worth the eye.
	boldShare = 50
)

// Host is what the processors of the near host do, and what runs on them. It draws them as rows of shades below the charts
// and as a table.
type Host struct {
	shared bool // both ends of the load run on it
	busy   trace
	last   float64      // time of the newest Frame that told how busy all are
	rows   []*processor // by number
	ranked []*processor // the busiest first
	shown  []*processor // those drawn last, by number
	read   float64      // time of the newest reading of each
}

// processor is one row.
type processor struct {
	now    metric.CPU
	read   float64 // time of the reading it is from
	recent float64 // how busy it has been lately, percent
	plot   chart.Plot
	name   string
	number string // for the margin of a heat row
	holds  holds  // in the last reading
	seen   holds  // since then
}

// holds says what ran on a processor.
type holds uint8

const (
	sends holds = 1 << iota
	receives
	interrupted // by the interface of the traffic
)

func (h holds) String() string {
	return [...]string{
		none, "send", "recv", "send recv", "irq", "send irq", "recv irq", "send recv irq",
	}[h&(sends|receives|interrupted)]
}

// NewHost returns a host that nothing is known of. shared says that the far end runs on it too, as in a lab.
func NewHost(shared bool) *Host {
	h := &Host{shared: shared, last: math.Inf(-1), busy: trace{name: "host", scale: chart.Scale{Unit: chart.Share}}}
	h.busy.series = chart.NewSeries(heatKeep)
	return h
}

// Add takes a record of the feed.
func (h *Host) Add(rec metric.Record) {
	switch r := rec.(type) {
	case *metric.Mark:
		if r.Outcome != metric.Pending && moved(r) {
			h.busy.since.reset()
		}
	case *metric.Frame:
		// The Frames of both directions have the host's share of one tick: the first is enough.
		if r.T > h.last {
			h.last = r.T
			h.busy.add(r.T, r.CPU.Float())
		}
		h.running(r)
		if r.Host != nil && r.Host.Slow != nil {
			h.take(r.T, r.Host.Slow)
		}
	}
}

// running notes where the traffic threads of f ran, of the ends that this host is.
func (h *Host) running(f *metric.Frame) {
	note := func(cpus []int, what holds) {
		for _, n := range cpus {
			if i, ok := h.find(n); ok {
				h.rows[i].seen |= what
			}
		}
	}
	if h.shared || f.Dir == metric.Out {
		note(f.TxCPUs, sends)
	}
	if h.shared || f.Dir == metric.In {
		note(f.RxCPUs, receives)
	}
}

func (h *Host) find(n int) (int, bool) {
	return slices.BinarySearchFunc(h.rows, n, func(p *processor, n int) int { return cmp.Compare(p.now.N, n) })
}

// take takes a reading of each processor. One that is not in it is not online now.
func (h *Host) take(at float64, s *metric.HostSlow) {
	if len(s.CPUs) == 0 {
		return
	}
	h.read = at
	for i := range s.Interrupts {
		for n, times := range s.Interrupts[i].CPUs {
			if at, ok := h.find(n); ok && times > 0 {
				h.rows[at].seen |= interrupted
			}
		}
	}
	for i := range s.CPUs {
		if p := h.processor(s.CPUs[i].N); p != nil {
			p.take(at, &s.CPUs[i])
		}
	}
	h.rank()
}

// processor is the row of that number, a new one where there is none yet; nil where there cannot be one more.
func (h *Host) processor(n int) *processor {
	i, ok := h.find(n)
	switch {
	case ok:
		return h.rows[i]
	case n >= metric.MaxCPUs, len(h.rows) == metric.MaxRows:
		return nil
	}
	p := &processor{now: metric.CPU{N: n}, recent: math.NaN(), number: strconv.Itoa(n)}
	p.name = "cpu" + p.number
	if n < 0 {
		p.name, p.number = "all", "all"
	}
	p.plot = chart.Plot{Series: chart.NewSeries(heatKeep), Kind: chart.Heat}
	p.plot.Series.Every = 1
	h.rows = slices.Insert(h.rows, i, p)
	h.ranked = append(h.ranked, p)
	return p
}

func (p *processor) take(at float64, c *metric.CPU) {
	busy := min(max(100-c.Idle, 0), 100)
	p.plot.Series.Add(at, busy)
	if p.recent != p.recent {
		p.recent = busy
	}
	p.recent += rankWeight * (busy - p.recent)
	p.now, p.read, p.holds, p.seen = *c, at, p.seen, 0
}

// rank brings the busiest to the front, as far as they lead.
func (h *Host) rank() {
	for i := 1; i < len(h.ranked); i++ {
		for j := i; j > 0 && h.ranked[j].recent > h.ranked[j-1].recent+rankLead; j-- {
			h.ranked[j], h.ranked[j-1] = h.ranked[j-1], h.ranked[j]
		}
	}
}

// CPUs is how many processors there are to be drawn, 0 while that is not known.
func (h *Host) CPUs() int { return len(h.rows) }

// top are the n busiest, by number. They are good until the next call.
func (h *Host) top(n int) []*processor {
	if n >= len(h.rows) {
		return h.rows
	}
	h.shown = append(h.shown[:0], h.ranked[:max(n, 0)]...)
	slices.SortFunc(h.shown, func(a, b *processor) int { return cmp.Compare(a.now.N, b.now.N) })
	return h.shown
}

// reading is how busy all processors are together.
func (h *Host) reading() reading { return h.busy.read(meanOf(h.busy.series, h.last)) }

// caption says which processors n rows show.
func (h *Host) caption(n int) string {
	if n >= len(h.rows) {
		return "busy"
	}
	return fmt.Sprintf("busy; %d of %d cpus", n, len(h.rows))
}

// paintHeat paints the n busiest processors from row y on, left being where their margin begins. It has four cells: where
// the names of some are longer, all are numbers.
func (h *Host) paintHeat(b Brush, left, y, n int, w *chart.Window) {
	bare := len(h.rows) > 0 && h.rows[len(h.rows)-1].now.N > 9
	for i, p := range h.top(n) {
		p.plot.Label = p.name
		if bare {
			p.plot.Label = p.number
		}
		p.plot.Paint(b.Grid, left, y+i, 1, w, b.Glyphs)
	}
}

// Columns of the table, counted from its left edge. Shares end in theirs.
const (
	cpuName  = 2
	cpuUsr   = 10
	cpuSys   = 17
	cpuSoft  = 24
	cpuHolds = 27
)

// Draw paints the table of processors, the busiest where there are more than rows.
func (h *Host) Draw(b Brush, r Rect) {
	if r.Empty() || len(h.rows) == 0 {
		return
	}
	b.Text(r.X, r.Y, r.W, "cpu", chart.Bold)
	b.Ending(r.X+cpuUsr, r.Y, "usr %", chart.Faint)
	b.Ending(r.X+cpuSys, r.Y, "sys %", chart.Faint)
	b.Ending(r.X+cpuSoft, r.Y, "soft %", chart.Faint)
	b.Text(r.X+cpuHolds, r.Y, r.W-cpuHolds, "holds", chart.Faint)
	for i, p := range h.top(r.H - 1) {
		y := r.Y + 1 + i
		b.Text(r.X+cpuName, y, cpuUsr-cpuName, p.name, chart.Ink)
		if p.read != h.read {
			b.Text(r.X+cpuHolds, y, r.W-cpuHolds, "offline", chart.Faint)
		} else {
			b.Text(r.X+cpuHolds, y, r.W-cpuHolds, p.holds.String(), chart.Ink)
		}
		b.share(r.X+cpuUsr, y, p.share(h.read, p.now.Usr))
		b.share(r.X+cpuSys, y, p.share(h.read, p.now.Sys))
		b.share(r.X+cpuSoft, y, p.share(h.read, p.now.Softirq))
	}
}

// share is a share of the reading made at that time, absent where the processor was not in it.
func (p *processor) share(read, v float64) metric.Num {
	if p.read != read {
		return metric.Num{}
	}
	return metric.N(v)
}

// share paints whole percent that end in column right.
func (b Brush) share(right, y int, v metric.Num) {
	pct, ok := v.Get()
	switch {
	case !ok:
		b.Ending(right, y, none, chart.Ink)
	case pct >= boldShare:
		b.Ending(right, y, strconv.Itoa(int(math.Round(pct))), chart.Bold)
	default:
		b.Ending(right, y, strconv.Itoa(int(math.Round(pct))), chart.Ink)
	}
}
