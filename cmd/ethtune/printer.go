package main

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/trial"
)

// printer is one form of a run's output. Every call writes its line out at once.
type printer interface {
	start(*startRecord) error
	record(metric.Record) error
	end(endRecord) error
}

// jsonPrinter writes JSON lines.
type jsonPrinter struct {
	w   io.Writer
	buf []byte
}

func (p *jsonPrinter) start(s *startRecord) error { return p.record(s) }
func (p *jsonPrinter) end(e endRecord) error      { return p.record(&e) }

func (p *jsonPrinter) record(r metric.Record) error {
	var err error
	if p.buf, err = metric.AppendRecord(p.buf[:0], r); err != nil {
		return err
	}
	_, err = p.w.Write(p.buf)
	return err
}

// csvPrinter writes the intervals as comma separated values; what was turned stands in the interval after it.
type csvPrinter struct {
	w     io.Writer
	marks []string
}

var csvHead = []string{
	"t", "span", "dir", "tx_bps", "rx_bps", "jitter_ms", "jitter_p99_ms", "lost", "packets", "loss_pct",
	"retransmits", "rtt_ms", "cpu", "marks",
}

func (p *csvPrinter) write(row []string) error {
	c := csv.NewWriter(p.w)
	if err := c.Write(row); err != nil {
		return err
	}
	c.Flush()
	return c.Error()
}

func (p *csvPrinter) start(*startRecord) error { return p.write(csvHead) }
func (p *csvPrinter) end(endRecord) error      { return nil }

func (p *csvPrinter) record(r metric.Record) error {
	switch r := r.(type) {
	case *metric.Mark:
		p.marks = append(p.marks, fmt.Sprintf("%d %s:%s=%s %s", r.N, r.Side, r.Knob, r.Got, r.Outcome))
	case *metric.Frame:
		fixed := func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
		num := func(n metric.Num, digits int) string {
			v, ok := n.Get()
			if !ok {
				return ""
			}
			return strconv.FormatFloat(v, 'f', digits, 64)
		}
		marks := strings.Join(p.marks, "; ")
		p.marks = nil
		return p.write([]string{
			fixed(r.T), fixed(r.Span), string(r.Dir), num(r.TxBps, 0), num(r.RxBps, 0), num(r.JitterMs, 6),
			num(r.JitterP99Ms, 6), num(r.Lost, 0), num(r.Packets, 0), num(r.LossPct, 4), num(r.Retransmits, 0),
			num(r.RttMs, 6), num(r.CPU, 1), marks,
		})
	}
	return nil
}

// textPrinter writes lines for people.
type textPrinter struct{ w io.Writer }

func (p *textPrinter) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(p.w, format+"\n", args...)
	return err
}

func (p *textPrinter) start(s *startRecord) error {
	rate := "max rate"
	if s.Asked.RateBps > 0 {
		rate = bitRate(float64(s.Asked.RateBps)) + " each"
	}
	cc := ""
	if s.Congestion.Near != "" {
		cc = ", " + s.Congestion.Near
	}
	if err := p.printf("ethtune %s on %s, Linux %s, %d processors", s.Version, s.Host, s.Kernel, s.CPUs); err != nil {
		return err
	}
	unit := map[metric.Proto]string{metric.TCP: "a write", metric.UDP: "a datagram"}[s.Asked.Proto]
	return p.printf("%s %s x%d %s, %d bytes %s, %s%s", s.Dialect, s.Asked.Proto, s.Asked.Streams, s.Asked.Mode,
		s.Granted.Size, unit, rate, cc)
}

func (p *textPrinter) record(r metric.Record) error {
	switch r := r.(type) {
	case *metric.Frame:
		return p.printf("%7.1f s  %-3s %s", r.T, r.Dir, frameText(r))
	case *metric.Note:
		return p.printf("%7.1f s  -   %s", r.T, r.Text)
	case *metric.Mark:
		return p.printf("%7.1f s  mark %d  %s", r.T, r.N, markText(r))
	case *trial.Verdict:
		if r.Metric == trial.Bandwidth {
			return p.printf("           verdict %d  %s:%s %s  bandwidth %s", r.Mark, r.Side, knob.Short(r.Knob), r.B, verdictText(r))
		}
	}
	return nil
}

func frameText(f *metric.Frame) string {
	b := &strings.Builder{}
	part := func(n metric.Num, text func(float64) string) {
		if v, ok := n.Get(); ok {
			b.WriteString(text(v))
		} else {
			b.WriteString(strings.Repeat(" ", len(text(0))-1) + "-")
		}
	}
	// Of a far end that does not say what arrives there is what was acknowledged or sent, and said to be so.
	if rate, ok := f.RxBps.Get(); ok || f.TxBps.IsZero() {
		part(f.RxBps, func(float64) string { return fmt.Sprintf("%14s", bitRate(rate)) })
	} else {
		part(f.TxBps, func(v float64) string { return fmt.Sprintf("%14s sent", bitRate(v)) })
	}
	part(f.JitterMs, func(v float64) string { return fmt.Sprintf("  jitter %9s", millis(v)) })
	part(f.LossPct, func(v float64) string { return fmt.Sprintf("  loss %6.2f %%", v) })
	if f.LostAt != nil {
		if v, ok := f.LostAt.Socket.Get(); ok && v > 0 {
			fmt.Fprintf(b, " (%.0f at the receiver's socket)", v)
		}
	}
	if v, ok := f.Missed.Get(); ok && v > 0 {
		fmt.Fprintf(b, "  missed %.0f", v)
	}
	part(f.RttMs, func(v float64) string { return fmt.Sprintf("  rtt %9s", millis(v)) })
	if v, ok := f.Retransmits.Get(); ok {
		fmt.Fprintf(b, "  resent %.0f", v)
	}
	if v, ok := f.SoftnetDrops.Get(); ok && v > 0 {
		fmt.Fprintf(b, "  softnet drops %.0f", v)
	}
	if v, ok := f.CPU.Get(); ok {
		fmt.Fprintf(b, "  cpu %.0f %%", v)
	}
	b.WriteString(dropText(f.Host))
	if f.Suspect != "" {
		b.WriteString("  suspect: " + f.Suspect)
	}
	return b.String()
}

// dropText is what the near host dropped that has no column; empty where that is nothing.
func dropText(h *metric.Host) string {
	b := &strings.Builder{}
	part := func(what string, n uint64) {
		if n > 0 {
			fmt.Fprintf(b, "  %s drops %d", what, n)
		}
	}
	if h == nil {
		return ""
	}
	if n := h.NIC; n != nil {
		part(n.Device+" rx", n.RxDropped)
		part(n.Device+" tx", n.TxDropped)
	}
	if h.Slow != nil {
		for _, q := range h.Slow.Qdiscs {
			if q.Parent == "root" || q.Parent == "ingress" { // what is below is in it
				part(q.Kind, q.Drops)
			}
		}
	}
	return b.String()
}

func markText(m *metric.Mark) string {
	s := fmt.Sprintf("%s:%s %s -> %s  %s", m.Side, knob.Short(m.Knob), m.From, m.Got, m.Outcome)
	if m.Got != m.Asked {
		s += fmt.Sprintf(" (asked %s)", m.Asked)
	}
	s += because(m.Reason)
	for i, a := range m.Also {
		if i == 0 {
			s += "; also"
		} else {
			s += ","
		}
		s += fmt.Sprintf(" %s %s", knob.Short(a.Knob), a.To)
	}
	return s
}

func verdictText(v *trial.Verdict) string {
	d, ok := v.DeltaPct.Get()
	if !ok || len(v.CI95) != 2 {
		return string(v.Answer) + because(v.Reason)
	}
	return fmt.Sprintf("%+.0f %% (95 %%: %+.0f to %+.0f)  %s%s", d, v.CI95[0], v.CI95[1], v.Answer, because(v.Reason))
}

// bitRate is a rate with its unit, 1000-based.
func bitRate(bps float64) string {
	for _, u := range []struct {
		f    float64
		name string
	}{{1e12, "Tbit/s"}, {1e9, "Gbit/s"}, {1e6, "Mbit/s"}, {1e3, "kbit/s"}} {
		if bps >= u.f {
			return fmt.Sprintf("%.2f %s", bps/u.f, u.name)
		}
	}
	return fmt.Sprintf("%.0f bit/s", bps)
}

// millis is a time of v milliseconds with its unit.
func millis(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.2f s", v/1000)
	case v >= 1:
		return fmt.Sprintf("%.2f ms", v)
	}
	return fmt.Sprintf("%.1f us", v*1000)
}

func (p *textPrinter) end(e endRecord) error {
	for _, t := range e.Totals {
		f := &metric.Frame{RxBps: t.RxBps, TxBps: t.TxBps, LossPct: t.LossPct, LostAt: t.LostAt, RttMs: t.RttMs, Retransmits: t.Retransmits,
			JitterMs: cmp.Or(t.JitterP50Ms, t.JitterMs)}
		if err := p.printf("%7.1f s  %-3s %s  in all", e.T, t.Dir, frameText(f)); err != nil {
			return err
		}
	}
	for _, r := range e.Restored {
		word := "put back"
		switch {
		case r.Outcome == string(knob.Unchanged):
			word = "left    "
		case r.Outcome != string(knob.Applied):
			word = "NOT BACK"
		}
		if err := p.printf("           %s  %s:%s %s -> %s%s", word, r.Side, knob.Short(r.Knob), r.From, r.Got, because(r.Reason)); err != nil {
			return err
		}
	}
	return nil
}
