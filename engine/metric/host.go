package metric

import (
	"maps"
	"slices"
)

// Host is what the near host did beside the traffic in one interval, all of its traffic and its work included. A group
// that is not there was not measured. Within a group that is there, a counter that is not there did not move: of the
// hundreds a host has, a line holds those that say something.
type Host struct {
	Softnet *Softnet  `json:"softnet,omitempty"`
	NIC     *NIC      `json:"nic,omitempty"`
	Slow    *HostSlow `json:"slow,omitempty"` // of a longer time; in the interval in which it was read
}

// Softnet counts what the processors took from their devices (/proc/net/softnet_stat).
type Softnet struct {
	Processed uint64 `json:"processed,omitempty"` // packets; one that was steered to another processor counts there too
	Dropped   uint64 `json:"dropped,omitempty"`   // packets for which a backlog was full
	Squeezed  uint64 `json:"squeezed,omitempty"`  // times a poll ended by its budget with packets left
}

// NIC counts what passed the traffic's interface (/proc/net/dev), with the headers that its driver counts.
type NIC struct {
	Device    string `json:"dev"`
	RxBytes   uint64 `json:"rx_bytes,omitempty"`
	RxPackets uint64 `json:"rx_packets,omitempty"`
	RxErrors  uint64 `json:"rx_errors,omitempty"`
	RxDropped uint64 `json:"rx_dropped,omitempty"` // those missed for want of a buffer included
	TxBytes   uint64 `json:"tx_bytes,omitempty"`
	TxPackets uint64 `json:"tx_packets,omitempty"`
	TxErrors  uint64 `json:"tx_errors,omitempty"`
	TxDropped uint64 `json:"tx_dropped,omitempty"`
}

// HostSlow is what is too dear to read, or too coarse, for every interval. Its counters are of Span.
type HostSlow struct {
	Span       float64           `json:"span"`                // seconds since it was read before
	CPUs       []CPU             `json:"cpus,omitempty"`      // one for each that is online; one of all together where they are more than MaxRows
	Interrupts []Interrupt       `json:"irqs,omitempty"`      // of the interface's device
	Qdiscs     []Qdisc           `json:"qdiscs,omitempty"`    // of the interface
	Driver     map[string]uint64 `json:"driver,omitempty"`    // the driver's own counters of what went wrong, by its own names
	MIB        map[string]uint64 `json:"mib,omitempty"`       // counters of the network namespace, such as "Tcp.RetransSegs"
	Top        []Process         `json:"top,omitempty"`       // processes that used the processors most
	RxMissed   uint64            `json:"rx_missed,omitempty"` // packets for which the device had no buffer; they are in the NIC's rx_dropped too
	LinkBps    Num               `json:"link_bps,omitzero"`   // speed of the link as it was agreed
	Node       Num               `json:"numa_node,omitzero"`  // of the interface's device
}

// MaxRows bounds every list and map of a HostSlow, so that a line with all of them stays below MaxLine.
const MaxRows = 256

// CPU is one processor: shares of its time in percent, and packets it took from devices.
type CPU struct {
	N         int     `json:"cpu"` // -1 for all together
	Usr       float64 `json:"usr"` // nice included
	Sys       float64 `json:"sys"`
	Idle      float64 `json:"idle"` // waiting for a disk included
	Softirq   float64 `json:"softirq,omitempty"`
	IRQ       float64 `json:"irq,omitempty"`
	Steal     float64 `json:"steal,omitempty"` // used by other guests of the hypervisor
	Processed uint64  `json:"processed,omitempty"`
	Dropped   uint64  `json:"dropped,omitempty"`
	Squeezed  uint64  `json:"squeezed,omitempty"`

	span float64 // seconds that the shares are of, where it was folded
}

// Interrupt is one line to the processors: who was interrupted how often.
type Interrupt struct {
	IRQ  int            `json:"irq"`
	Name string         `json:"name,omitempty"` // the driver's, mostly with the queue
	CPUs map[int]uint64 `json:"cpus"`           // interrupts of each processor that had any
}

// Qdisc is one queueing discipline in which something happened.
type Qdisc struct {
	Kind       string `json:"kind"`
	Handle     string `json:"handle"` // as tc(8) writes it
	Parent     string `json:"parent"` // "root", "ingress", or its class
	Drops      uint64 `json:"drops,omitempty"`
	Overlimits uint64 `json:"overlimits,omitempty"`
	Requeues   uint64 `json:"requeues,omitempty"`
	Backlog    uint64 `json:"backlog,omitempty"` // packets waiting when it was read
}

// Process is one process and its share of one processor, its threads together.
type Process struct {
	Name string  `json:"name"`
	PID  int     `json:"pid"`
	Pct  float64 `json:"pct"` // more than 100 where its threads ran on several processors
}

// add folds o in and keeps nothing of it.
func (h *Host) add(o *Host) {
	if o.Softnet != nil {
		if h.Softnet == nil {
			h.Softnet = &Softnet{}
		}
		h.Softnet.Processed += o.Softnet.Processed
		h.Softnet.Dropped += o.Softnet.Dropped
		h.Softnet.Squeezed += o.Softnet.Squeezed
	}
	if o.NIC != nil {
		if h.NIC == nil {
			h.NIC = &NIC{}
		}
		h.NIC.add(o.NIC)
	}
	if o.Slow != nil {
		if h.Slow == nil {
			h.Slow = &HostSlow{}
		}
		h.Slow.add(o.Slow)
	}
}

func (n *NIC) add(o *NIC) {
	n.Device = o.Device
	n.RxBytes += o.RxBytes
	n.RxPackets += o.RxPackets
	n.RxErrors += o.RxErrors
	n.RxDropped += o.RxDropped
	n.TxBytes += o.TxBytes
	n.TxPackets += o.TxPackets
	n.TxErrors += o.TxErrors
	n.TxDropped += o.TxDropped
}

// add sums counters, weighs shares with their time, and of the rest keeps the last.
func (s *HostSlow) add(o *HostSlow) {
	s.Span += o.Span
	s.CPUs = fold(s.CPUs, o.CPUs, func(a, b *CPU) bool { return a.N == b.N }, func(a, b *CPU) { a.add(b, o.Span) })
	s.Interrupts = fold(s.Interrupts, o.Interrupts, func(a, b *Interrupt) bool { return a.IRQ == b.IRQ }, (*Interrupt).add)
	s.Qdiscs = fold(s.Qdiscs, o.Qdiscs, (*Qdisc).same, (*Qdisc).add)
	s.Driver, s.MIB = sum(s.Driver, o.Driver), sum(s.MIB, o.MIB)
	if len(o.Top) > 0 {
		s.Top = slices.Clone(o.Top)
	}
	s.RxMissed += o.RxMissed
	s.LinkBps, s.Node = o.LinkBps, o.Node
}

// fold adds each of more to the one of rows that is the same, or to a new one.
func fold[R any](rows, more []R, same func(a, b *R) bool, add func(a, b *R)) []R {
	for i := range more {
		at := slices.IndexFunc(rows, func(r R) bool { return same(&r, &more[i]) })
		if at < 0 {
			if at = len(rows); at == MaxRows {
				break
			}
			rows = append(rows, *new(R))
		}
		add(&rows[at], &more[i])
	}
	return rows
}

// sum adds the counters of more to those of m.
func sum[K comparable](m, more map[K]uint64) map[K]uint64 {
	if m == nil {
		return maps.Clone(more)
	}
	for k, v := range more {
		if _, known := m[k]; known || len(m) < MaxRows {
			m[k] += v
		}
	}
	return m
}

// add folds b, whose shares are of span seconds, in.
func (c *CPU) add(b *CPU, span float64) {
	whole := c.span + span
	if whole > 0 {
		mean := func(a *float64, b float64) { *a += (b - *a) * (span / whole) }
		mean(&c.Usr, b.Usr)
		mean(&c.Sys, b.Sys)
		mean(&c.Idle, b.Idle)
		mean(&c.Softirq, b.Softirq)
		mean(&c.IRQ, b.IRQ)
		mean(&c.Steal, b.Steal)
	}
	c.N, c.span = b.N, whole
	c.Processed += b.Processed
	c.Dropped += b.Dropped
	c.Squeezed += b.Squeezed
}

func (i *Interrupt) add(b *Interrupt) {
	i.IRQ, i.Name = b.IRQ, b.Name
	i.CPUs = sum(i.CPUs, b.CPUs)
}

func (q *Qdisc) same(b *Qdisc) bool {
	return q.Kind == b.Kind && q.Handle == b.Handle && q.Parent == b.Parent
}

func (q *Qdisc) add(b *Qdisc) {
	q.Kind, q.Handle, q.Parent = b.Kind, b.Handle, b.Parent
	q.Drops += b.Drops
	q.Overlimits += b.Overlimits
	q.Requeues += b.Requeues
	q.Backlog = b.Backlog
}
