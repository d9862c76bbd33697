package flow

import "github.com/ethtune/ethtune/engine/metric"

// Tx is what a sender has done since it started. Counters only grow.
type Tx struct {
	Bytes   uint64 `json:"bytes"`             // of payload: acknowledged for TCP, handed to the kernel for UDP
	Packets uint64 `json:"packets,omitempty"` // UDP: sequence numbers used up, those refused included
	Refused uint64 `json:"refused,omitempty"` // UDP: datagrams this host's own stack did not take
	Missed  uint64 `json:"missed,omitempty"`  // UDP: datagrams of the schedule given up because the thread was late
	Calls   uint64 `json:"calls,omitempty"`   // UDP: system calls that sent
	Retrans uint64 `json:"retrans,omitempty"` // TCP: segments sent again

	// TCP: how long there was something to send, and how much of that the peer's window and the own send buffer stood in
	// the way. A kernel that does not say leaves BusyUs 0.
	BusyUs   uint64 `json:"busy_us,omitempty"`
	RwndUs   uint64 `json:"rwnd_us,omitempty"`
	SndbufUs uint64 `json:"sndbuf_us,omitempty"`

	// TCP: what the kernel says now.
	RttMs       metric.Num `json:"rtt_ms,omitzero"`       // smoothed round trip
	MinRttMs    metric.Num `json:"min_rtt_ms,omitzero"`   // least round trip of the last minutes
	CwndBytes   metric.Num `json:"cwnd_bytes,omitzero"`   // congestion window
	DeliveryBps metric.Num `json:"delivery_bps,omitzero"` // rate of its last delivery sample

	// What a running UDP sender uses now, of several the largest.
	Batch int    `json:"batch,omitempty"`  // messages a call at most; a paced sender sends what is due
	GSO   int    `json:"gso,omitempty"`    // datagrams a message; beyond 1 a train of UDP_SEGMENT
	NoGSO bool   `json:"no_gso,omitempty"` // trains were wanted, and the kernel refuses them on this path
	Epoch uint32 `json:"epoch,omitempty"`  // how often the stream was given something else to do
}

// add sums the counters of b in; what the kernel says now is the caller's to fold.
func (a *Tx) add(b Tx) {
	a.Bytes += b.Bytes
	a.Packets += b.Packets
	a.Refused += b.Refused
	a.Missed += b.Missed
	a.Calls += b.Calls
	a.Retrans += b.Retrans
	a.BusyUs += b.BusyUs
	a.RwndUs += b.RwndUs
	a.SndbufUs += b.SndbufUs
}

// join adds what b, a running stream, uses now; the round trips are the caller's to average.
func (a *Tx) join(b Tx) {
	a.Batch, a.GSO, a.Epoch = max(a.Batch, b.Batch), max(a.GSO, b.GSO), max(a.Epoch, b.Epoch)
	a.NoGSO = a.NoGSO || b.NoGSO
}

// Rx is what a receiver has seen since it started. Counters only grow, except that Lost shrinks when a datagram arrives
// behind a later one.
type Rx struct {
	Bytes      uint64     `json:"bytes"`                // of payload
	Packets    uint64     `json:"packets,omitempty"`    // UDP: distinct datagrams
	Expected   uint64     `json:"expected,omitempty"`   // UDP: highest sequence number + 1; at the end what the sender sent
	Reordered  uint64     `json:"reordered,omitempty"`  // UDP: of Packets, those that arrived behind a later one
	Extent     uint64     `json:"extent,omitempty"`     // UDP: how many datagrams such a one was behind the latest, at most so far
	Duplicates uint64     `json:"duplicates,omitempty"` // UDP: those that came again, or later than [windowSize] tells
	Drops      uint64     `json:"drops,omitempty"`      // UDP: datagrams dropped at the full socket buffer
	NoDrops    bool       `json:"no_drops,omitempty"`   // the kernel does not count Drops
	Calls      uint64     `json:"calls,omitempty"`      // UDP: system calls that brought something
	JitterNs   metric.Num `json:"jitter_ns,omitzero"`   // UDP: RFC 3550 section 6.4.1, now
	User       bool       `json:"user,omitempty"`       // UDP: a receive stamp was taken in user space
	Ended      bool       `json:"ended,omitempty"`      // UDP: the sender said in a datagram that it was the last

	// Lag is how long messages lay in the socket, from the kernel's stamp to the return of the call that brought them, in
	// nanoseconds. It is of one interval: only a reading that takes the jitter has it, and it is the caller's.
	Lag *metric.Hist `json:"lag,omitempty"`

	// What a running UDP receiver uses now, of several the largest.
	Batch int    `json:"batch,omitempty"` // messages a call at most
	GRO   bool   `json:"gro,omitempty"`   // UDP_GRO is on
	Epoch uint32 `json:"epoch,omitempty"` // Head.Epoch of the latest datagram
}

// add sums b's counters in.
func (a *Rx) add(b Rx) {
	a.Bytes += b.Bytes
	a.Packets += b.Packets
	a.Expected += b.Expected
	a.Reordered += b.Reordered
	a.Extent = max(a.Extent, b.Extent)
	a.Duplicates += b.Duplicates
	a.Drops += b.Drops
	a.NoDrops = a.NoDrops || b.NoDrops
	a.Calls += b.Calls
	a.User = a.User || b.User
}

// join adds what b, a running stream, uses now, and its interval; the jitters are the caller's to average.
func (a *Rx) join(b Rx) {
	a.Batch, a.GRO, a.Epoch = max(a.Batch, b.Batch), a.GRO || b.GRO, max(a.Epoch, b.Epoch)
	a.Ended = a.Ended || b.Ended
	if a.Lag == nil {
		a.Lag = b.Lag
	} else {
		a.Lag.Merge(b.Lag)
	}
}

// Lost is how many expected datagrams have not come.
func (a Rx) Lost() uint64 {
	if a.Packets >= a.Expected {
		return 0
	}
	return a.Expected - a.Packets
}

// Sender is load that leaves this process.
type Sender interface {
	Start()
	Aim(bps int64, c metric.Calls) error // of payload; 0 takes the bound away
	Tx() Tx                              // after Close: the final count
	Tune(o metric.Socket) (metric.GrantedSocket, error)
	Place(cpus string) error
	CPU() (int, bool)
	Close() error
	Done() <-chan struct{}
	Err() error
}

// Receiver is load that arrives at this process.
type Receiver interface {
	Start()
	// Rx moves the jitter counted since the last such call to h, and the lag to Rx.Lag; with nil both stay for the next.
	Rx(h *metric.Hist) Rx
	Aim(bps int64, c metric.Calls) error // the sender's rate, by which calls are chosen that c leaves open
	Tune(o metric.Socket) (metric.GrantedSocket, error)
	Place(cpus string) error
	CPU() (int, bool)
	// Finish ends it once the sender's final count is known, so that what was lost at the tail is counted.
	Finish(sent uint64) (Rx, error)
	Close() error
	Done() <-chan struct{}
	Err() error
}
