package metric

import (
	"cmp"
	"math"
	"time"
)

// Places a measured loss, jitter or round trip comes from.
const (
	FromLoad  = "load"
	FromProbe = "probe"
	FromTCP   = "tcp"
)

// Frame is what was measured of one direction in one interval: an "interval" line. Counters are of this interval only.
type Frame struct {
	T    float64   `json:"t"`    // end of the interval, monotonic seconds since traffic first flowed
	Span float64   `json:"span"` // length of the interval in seconds
	Time time.Time `json:"time"` // wall clock at its end
	Dir  Dir       `json:"dir"`

	TxBps Num `json:"tx_bps,omitzero"` // acknowledged for TCP, sent for UDP
	RxBps Num `json:"rx_bps,omitzero"` // arrived

	// TxSpan and RxSpan are the seconds that TxBps and RxBps are of, by the clock of the end that counted: a report that
	// comes late, or of a stock receiver that tells of a whole test when that is over, makes one of them longer than Span.
	// Absent, it is Span.
	TxSpan Num `json:"tx_span,omitzero"`
	RxSpan Num `json:"rx_span,omitzero"`

	JitterMs    Num    `json:"jitter_ms,omitzero"` // RFC 3550 section 6.4.1 estimator at the interval's end
	JitterP50Ms Num    `json:"jitter_p50_ms,omitzero"`
	JitterP99Ms Num    `json:"jitter_p99_ms,omitzero"` // of |D|, the change of transit time from packet to packet
	JitterMaxMs Num    `json:"jitter_max_ms,omitzero"`
	JitterFrom  string `json:"jitter_from,omitempty"`  // load or probe
	JitterClock string `json:"jitter_clock,omitempty"` // "user" where the kernel gave no receive stamps
	Jitter      *Hist  `json:"jitter_hist,omitempty"`  // of |D|; on the agent stream, not in the output of run

	Lost     Num     `json:"lost,omitzero"`
	Packets  Num     `json:"packets,omitzero"` // that should have arrived
	LossPct  Num     `json:"loss_pct,omitzero"`
	LossFrom string  `json:"loss_from,omitempty"` // load or probe
	LostAt   *LostAt `json:"lost_at,omitempty"`

	Reordered     Num `json:"reordered,omitzero"`      // UDP: arrived behind a later one
	ReorderExtent Num `json:"reorder_extent,omitzero"` // how many datagrams such a one was behind the latest, at most so far
	Duplicates    Num `json:"duplicates,omitzero"`     // UDP: arrived again

	// Lag is how long a UDP datagram or train lay in the receiver's socket: not of the path, but of how the receiver is run.
	LagP50Ms Num   `json:"lag_p50_ms,omitzero"`
	LagMaxMs Num   `json:"lag_max_ms,omitzero"`
	Lag      *Hist `json:"lag_hist,omitempty"` // on the agent stream, not in the output of run

	TxMode string `json:"tx_mode,omitempty"` // UDP: how the sender makes its calls now: write, sendmmsg N or gso N
	RxMode string `json:"rx_mode,omitempty"` // UDP: read, recvmmsg N or gro N
	Epoch  uint32 `json:"epoch,omitempty"`   // UDP: number of the setting that produced the latest datagram that arrived

	// Missed are datagrams of a UDP schedule that were never sent, because the sender was not run in time. They are not
	// lost: nothing of them left.
	Missed Num `json:"missed,omitzero"`

	// SoftnetDrops are packets that the receiving host dropped since a processor's backlog was full, of all its traffic.
	SoftnetDrops Num `json:"softnet_drops,omitzero"`

	Retransmits Num    `json:"retransmits,omitzero"` // TCP segments sent again
	RttMs       Num    `json:"rtt_ms,omitzero"`
	RttFrom     string `json:"rtt_from,omitempty"` // probe or tcp

	// What the sending kernels say of TCP: the smallest round trip of the last minutes, and of all streams together the
	// congestion windows and the rate at which the last samples were delivered.
	MinRttMs    Num      `json:"min_rtt_ms,omitzero"`
	CwndBytes   Num      `json:"cwnd_bytes,omitzero"`
	DeliveryBps Num      `json:"delivery_bps,omitzero"`
	Limited     *Limited `json:"limited,omitempty"`

	// TxCPUs and RxCPUs are the processors that the traffic threads of the sending and the receiving end last ran on.
	TxCPUs []int `json:"tx_cpus,omitempty"`
	RxCPUs []int `json:"rx_cpus,omitempty"`

	CPU     Num `json:"cpu,omitzero"`      // busy share of all processors of the near host, percent
	SelfCPU Num `json:"self_cpu,omitzero"` // of one processor, used by the near agent for everything but its traffic threads
	Late    Num `json:"late,omitzero"`     // sampling ticks that came more than half a tick late

	// Suspect says why RxBps cannot be right, or the link or its counters are not what they say; empty where nothing does.
	Suspect string `json:"suspect,omitempty"`

	// Host is what else the near host did. It is of the host and not of a direction, so of the Frames of one tick only the
	// first has it.
	Host *Host `json:"host,omitempty"`
}

// TxBytes is the payload that TxBps counted.
func (f *Frame) TxBytes() Num { return bytesOf(f.TxBps, f.TxSpan.Or(f.Span)) }

// RxBytes is the payload that RxBps counted.
func (f *Frame) RxBytes() Num { return bytesOf(f.RxBps, f.RxSpan.Or(f.Span)) }

func bytesOf(bps Num, seconds float64) Num {
	v, ok := bps.Get()
	if !ok {
		return bps
	}
	return N(math.Round(v * seconds / 8))
}

// LostAt splits a loss by where it happened, in packets. What could not be told apart stays in Path.
type LostAt struct {
	Sender Num `json:"sender,omitzero"` // the sender's own stack refused it (ENOBUFS and kin)
	Path   Num `json:"path,omitzero"`
	Socket Num `json:"socket,omitzero"` // the receiver's socket buffer was full
	NIC    Num `json:"nic,omitzero"`    // the receiving host's device or backlog dropped it
}

// Limited says what stood in the way of TCP senders, in percent of the time they had something to send. The rest of it the
// congestion window, or the pacing, did.
type Limited struct {
	RwndPct   Num `json:"rwnd_pct,omitzero"`   // the receiver's window was full
	SndbufPct Num `json:"sndbuf_pct,omitzero"` // the send buffer held too little
}

// RecordType is the line's type.
func (*Frame) RecordType() string { return "interval" }

// Merger folds the Frames of one direction into longer intervals without turning an absence into a number.
// The zero Merger is empty. It keeps no Frame that it was given, except its lists of processors, which nobody changes.
type Merger struct {
	out      Frame
	n        int
	hist     Hist
	lag      Hist
	tx, rx   mean
	rtt, cpu mean
	self     mean

	cwnd, delivery mean
	rwnd, sndbuf   mean
}

// mean is a mean over time of what was there.
type mean struct{ sum, w float64 }

func (m *mean) add(n Num, w float64) {
	if v, ok := n.Get(); ok && w > 0 {
		m.sum += v * w
		m.w += w
	}
}

func (m *mean) num() Num {
	if m.w == 0 {
		return Num{}
	}
	return N(m.sum / m.w)
}

// seconds is how much time it is of.
func (m *mean) seconds() Num {
	if m.w == 0 {
		return Num{}
	}
	return N(m.w)
}

// Add folds f in.
func (m *Merger) Add(f *Frame) {
	o := &m.out
	m.n++
	o.T, o.Time, o.Dir = f.T, f.Time, f.Dir
	o.Span += f.Span
	m.tx.add(f.TxBps, f.TxSpan.Or(f.Span))
	m.rx.add(f.RxBps, f.RxSpan.Or(f.Span))
	m.rtt.add(f.RttMs, f.Span)
	m.cpu.add(f.CPU, f.Span)
	m.self.add(f.SelfCPU, f.Span)
	if !f.JitterMs.IsZero() {
		o.JitterMs, o.JitterFrom, o.JitterClock = f.JitterMs, f.JitterFrom, f.JitterClock
	}
	m.hist.Merge(f.Jitter)
	m.lag.Merge(f.Lag)
	o.Reordered, o.Duplicates = o.Reordered.Add(f.Reordered), o.Duplicates.Add(f.Duplicates)
	if !f.ReorderExtent.IsZero() {
		o.ReorderExtent = f.ReorderExtent
	}
	o.TxMode, o.RxMode = cmp.Or(f.TxMode, o.TxMode), cmp.Or(f.RxMode, o.RxMode)
	if f.RxMode != "" { // it counts anew where streams are opened anew, so the last word is not the largest
		o.Epoch = f.Epoch
	}
	o.Lost, o.Packets = o.Lost.Add(f.Lost), o.Packets.Add(f.Packets)
	if f.LossFrom != "" {
		o.LossFrom = f.LossFrom
	}
	if f.LostAt != nil {
		if o.LostAt == nil {
			o.LostAt = &LostAt{}
		}
		a := o.LostAt
		a.Sender, a.Path = a.Sender.Add(f.LostAt.Sender), a.Path.Add(f.LostAt.Path)
		a.Socket, a.NIC = a.Socket.Add(f.LostAt.Socket), a.NIC.Add(f.LostAt.NIC)
	}
	o.Missed = o.Missed.Add(f.Missed)
	o.Retransmits = o.Retransmits.Add(f.Retransmits)
	o.SoftnetDrops = o.SoftnetDrops.Add(f.SoftnetDrops)
	o.Late = o.Late.Add(f.Late)
	if f.Suspect != "" {
		o.Suspect = f.Suspect
	}
	if f.Host != nil {
		if o.Host == nil {
			o.Host = &Host{}
		}
		o.Host.add(f.Host)
	}
	if f.RttFrom != "" {
		o.RttFrom = f.RttFrom
	}
	if v, ok := f.MinRttMs.Get(); ok && v < o.MinRttMs.Or(v+1) {
		o.MinRttMs = f.MinRttMs
	}
	m.cwnd.add(f.CwndBytes, f.Span)
	m.delivery.add(f.DeliveryBps, f.Span)
	if f.Limited != nil {
		m.rwnd.add(f.Limited.RwndPct, f.Span)
		m.sndbuf.add(f.Limited.SndbufPct, f.Span)
	}
	if f.TxCPUs != nil {
		o.TxCPUs = f.TxCPUs
	}
	if f.RxCPUs != nil {
		o.RxCPUs = f.RxCPUs
	}
}

// AddLate folds in what f tells of the receiver of an interval that is there already. Nothing else of f counts.
func (m *Merger) AddLate(f *Frame) {
	if m.n == 0 {
		return
	}
	m.Add(&Frame{T: m.out.T, Time: m.out.Time, Dir: f.Dir, RxBps: f.RxBps, RxSpan: f.RxSpan,
		JitterMs: f.JitterMs, JitterFrom: f.JitterFrom, Jitter: f.Jitter, JitterClock: f.JitterClock,
		Lost: f.Lost, Packets: f.Packets, LossFrom: f.LossFrom, LostAt: f.LostAt,
		Reordered: f.Reordered, ReorderExtent: f.ReorderExtent, Duplicates: f.Duplicates})
}

// Span is how many seconds it holds so far.
func (m *Merger) Span() float64 { return m.out.Span }

// Take returns the folded Frame and empties the Merger; nil where nothing was added.
func (m *Merger) Take() *Frame {
	if m.n == 0 {
		return nil
	}
	o := m.out
	o.TxBps, o.RxBps, o.RttMs = m.tx.num(), m.rx.num(), m.rtt.num()
	o.TxSpan, o.RxSpan = m.tx.seconds(), m.rx.seconds()
	o.CPU, o.SelfCPU = m.cpu.num(), m.self.num()
	o.CwndBytes, o.DeliveryBps = m.cwnd.num(), m.delivery.num()
	if l := (Limited{m.rwnd.num(), m.sndbuf.num()}); l != (Limited{}) {
		o.Limited = &l
	}
	o.LossPct = LossPct(o.Lost, o.Packets)
	if m.hist.N() > 0 {
		h := m.hist
		o.SetJitter(&h)
	}
	if m.lag.N() > 0 {
		h := m.lag
		o.SetLag(&h)
	}
	*m = Merger{}
	return &o
}

// LossPct is lost of packets in percent; absent where nothing was sent.
func LossPct(lost, packets Num) Num {
	l, ok1 := lost.Get()
	p, ok2 := packets.Get()
	if !ok1 || !ok2 || p <= 0 {
		return Num{}
	}
	return N(100 * l / p)
}

// SetLag keeps h, which may be nil and is the Frame's from then on, and fills the quantiles from it.
func (f *Frame) SetLag(h *Hist) {
	if h == nil || h.N() == 0 {
		return
	}
	f.Lag = h
	f.LagP50Ms, f.LagMaxMs = millis(h.Quantile(0.5)), millis(h.Max())
}

// millis is a duration of ns nanoseconds, if there is one.
func millis(ns int64, ok bool) Num {
	if !ok {
		return Num{}
	}
	return N(float64(ns) / 1e6)
}

// SetJitter keeps h, which the Frame owns from then on, and fills the quantiles from it.
func (f *Frame) SetJitter(h *Hist) {
	f.Jitter = h
	f.JitterP50Ms, f.JitterP99Ms, f.JitterMaxMs = millis(h.Quantile(0.5)), millis(h.Quantile(0.99)), millis(h.Max())
}
