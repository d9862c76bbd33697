package pane

import (
	"slices"
	"strings"
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
)

// cpuFrame is a reading of processors that were idle for these shares, in percent.
func cpuFrame(t float64, idle ...float64) *metric.Frame {
	s := &metric.HostSlow{Span: 1}
	for n, v := range idle {
		s.CPUs = append(s.CPUs, metric.CPU{N: n, Sys: 100 - v, Idle: v})
	}
	return &metric.Frame{T: t, Span: 0.1, Dir: metric.Out, CPU: metric.N(50), Host: &metric.Host{Slow: s}}
}

func numbers(ps []*processor) (out []int) {
	for _, p := range ps {
		out = append(out, p.now.N)
	}
	return out
}

// The busiest are shown by number; two that are equally busy do not take turns, and one that is busier for a while comes in.
func TestBusiestProcessors(t *testing.T) {
	h := NewHost(false)
	h.Add(cpuFrame(1, 90, 10, 90, 50))
	if got := numbers(h.top(2)); !slices.Equal(got, []int{1, 3}) {
		t.Fatalf("the busiest are %v", got)
	}
	for i := range 60 {
		h.Add(cpuFrame(float64(2+i), 90, 10, 48, 50))
	}
	if got := numbers(h.top(2)); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("with two that are equally busy: %v", got)
	}
	for i := range 10 {
		h.Add(cpuFrame(float64(62+i), 90, 10, 0, 50))
	}
	if got := numbers(h.top(2)); !slices.Equal(got, []int{1, 2}) {
		t.Errorf("after ten seconds of one that is busier: %v", got)
	}
	if got := numbers(h.top(9)); !slices.Equal(got, []int{0, 1, 2, 3}) {
		t.Errorf("all are %v", got)
	}
}

// table draws the table of h and gives its lines.
func table(h *Host, rows int) []string {
	g := chart.NewGrid(40, rows)
	h.Draw(Brush{Grid: g}, Rect{0, 0, 40, rows})
	return strings.Split(g.String(), "\n")
}

// What ran on a processor since the last reading is told with it, of the ends that are on this host.
func TestHolds(t *testing.T) {
	run := func(shared bool, f metric.Frame) []string {
		h := NewHost(shared)
		h.Add(cpuFrame(1, 50, 50, 50))
		f.T = 1.5
		h.Add(&f)
		next := cpuFrame(2, 50, 50, 50)
		next.Host.Slow.Interrupts = []metric.Interrupt{{IRQ: 9, CPUs: map[int]uint64{1: 3, 2: 0, 7: 1}}}
		h.Add(next)
		var out []string
		for _, p := range h.rows {
			out = append(out, p.holds.String())
		}
		return out
	}
	f := metric.Frame{Dir: metric.Out, TxCPUs: []int{0, 1, 4000}, RxCPUs: []int{2, -3}}
	if got, want := run(true, f), []string{"send", "send irq", "recv"}; !slices.Equal(got, want) {
		t.Errorf("both ends here: %q, want %q", got, want)
	}
	if got, want := run(false, f), []string{"send", "send irq", none}; !slices.Equal(got, want) {
		t.Errorf("sending to another host: %q, want %q", got, want)
	}
	f.Dir = metric.In
	if got, want := run(false, f), []string{none, "irq", "recv"}; !slices.Equal(got, want) {
		t.Errorf("receiving from another host: %q, want %q", got, want)
	}
}

// A processor that is missing in a reading has no values, and all together are one row.
func TestProcessorTable(t *testing.T) {
	h := NewHost(false)
	if got := table(h, 3); strings.TrimSpace(strings.Join(got, "")) != "" {
		t.Errorf("before a reading: %q", got)
	}
	h.Add(cpuFrame(1, 50, 25))
	h.Add(cpuFrame(2, 50))
	got := table(h, 3)
	if f := strings.Fields(got[1]); !slices.Equal(f, []string{"cpu0", "0", "50", "0", none}) {
		t.Errorf("a processor: %q", got[1])
	}
	if f := strings.Fields(got[2]); !slices.Equal(f, []string{"cpu1", none, none, none, "offline"}) {
		t.Errorf("one that is offline: %q", got[2])
	}

	h = NewHost(false)
	f := cpuFrame(1, 50)
	f.Host.Slow.CPUs[0].N = -1
	h.Add(f)
	if got := table(h, 2)[1]; !strings.HasPrefix(got, "  all ") {
		t.Errorf("all together: %q", got)
	}
}

// What is kept is bounded, whatever comes.
func TestProcessorsAreBounded(t *testing.T) {
	h := NewHost(false)
	f := cpuFrame(1, make([]float64, 2*metric.MaxRows)...)
	f.Host.Slow.CPUs[0].N = metric.MaxCPUs
	h.Add(f)
	if got := h.CPUs(); got != metric.MaxRows {
		t.Errorf("%d processors are kept", got)
	}
}

// The share of all is that of one direction's Frames, and its median counts from the last mark.
func TestHostReading(t *testing.T) {
	h := NewHost(false)
	add := func(at, cpu float64) {
		for _, d := range []metric.Dir{metric.Out, metric.In} {
			h.Add(&metric.Frame{T: at, Span: 0.1, Dir: d, CPU: metric.N(cpu)})
		}
	}
	for i := range 20 {
		add(float64(i)/10, 90)
	}
	h.Add(&metric.Mark{N: 1, T: 2, From: "on", Got: "off", Outcome: "applied"})
	add(2.1, 20)
	if r := h.reading(); r.median != 20 || len(h.busy.since.sorted) != 1 {
		t.Errorf("%+v of %v", r, h.busy.since.sorted)
	}
}
