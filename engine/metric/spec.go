package metric

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// Proto is the transport of the load.
type Proto string

// The transports.
const (
	TCP Proto = "tcp"
	UDP Proto = "udp"
)

// Dir is a direction of traffic, seen from the near end.
type Dir string

// The directions.
const (
	Out Dir = "out" // near to far
	In  Dir = "in"  // far to near
)

// Mode says which directions carry load.
type Mode string

// The modes: the default, iperf3's -R, and its --bidir.
const (
	ModeOut  Mode = "out"
	ModeIn   Mode = "in"
	ModeBoth Mode = "both"
)

// Dirs lists the directions of a mode.
func (m Mode) Dirs() []Dir {
	switch m {
	case ModeIn:
		return []Dir{In}
	case ModeBoth:
		return []Dir{Out, In}
	}
	return []Dir{Out}
}

// Limits of a Spec. Those of size are iperf3's own (iperf.h MAX_BLOCKSIZE, MAX_UDP_BLOCKSIZE), those of streams and
// buffers keep one process within what a board can hold.
const (
	MaxStreams = 128
	MaxRate    = 1_000_000_000_000 // 1 Tbit/s
	MaxTCPSize = 1 << 20
	MinTCPSize = 1
	MaxUDPSize = 65507 // 65535 - 20 (IPv4) - 8 (UDP)
	MinUDPSize = 32    // our datagram header
	MinSockBuf = 1 << 10
	MaxSockBuf = 512 << 20
	MaxProbe   = 10_000 // per second
	MinMSS     = 88     // TCP_MIN_MSS (include/net/tcp.h)
	MaxMSS     = 32767  // MAX_TCP_WINDOW (include/net/tcp.h)
	MaxBatch   = 64     // beyond it nothing is gained
	MaxGSO     = 64     // UDP_MAX_SEGMENTS of kernels before 6.9 (include/linux/udp.h)
	// DefaultProbe is the echo stream's rate in datagrams a second.
	DefaultProbe = 200
)

// Socket is what is asked of the load's sockets at one end. A zero field leaves the kernel's own choice. Congestion, NoDelay
// and TOS can be changed without an interruption, but see [Spec.Unpaces].
type Socket struct {
	SndBuf     int    `json:"sndbuf,omitempty"` // SO_SNDBUF in bytes, as asked; the kernel doubles it
	RcvBuf     int    `json:"rcvbuf,omitempty"` // SO_RCVBUF in bytes, as asked; the kernel doubles it
	Congestion string `json:"congestion,omitempty"`
	MSS        int    `json:"mss,omitempty"`     // TCP_MAXSEG in bytes
	NoDelay    bool   `json:"nodelay,omitempty"` // TCP_NODELAY
	TOS        int    `json:"tos,omitempty"`     // the whole byte of IP_TOS or IPV6_TCLASS
}

// Ways of [Calls.Copy].
const (
	Copy     = ""         // sendto(2): what an application does
	Vmsplice = "vmsplice" // pages of one constant buffer through a pipe
	Sendfile = "sendfile" // pages of a memfd
	ZeroCopy = "zerocopy" // MSG_ZEROCOPY, which pays on real hardware only
)

// On, Off and Auto are the values of [Calls.GRO].
const (
	Auto = ""
	On   = "on"
	Off  = "off"
)

// Calls says how the traffic threads of one end make their system calls, and where they run. A zero field is the engine's
// own choice, which follows the rate.
type Calls struct {
	Batch    int    `json:"batch,omitempty"`     // UDP: messages a call, each a datagram or a train; 1 = write(2) and read(2), more = sendmmsg(2) and recvmmsg(2)
	GSO      int    `json:"gso,omitempty"`       // UDP: datagrams in a train of UDP_SEGMENT, 1 = none
	GRO      string `json:"gro,omitempty"`       // UDP: UDP_GRO at the receiver, on or off
	Affinity string `json:"affinity,omitempty"`  // processors the threads may run on, as the kernel lists them: "2" or "0-1,4"
	Copy     string `json:"copy,omitempty"`      // TCP: how a sender hands over its bytes
	SkipCopy bool   `json:"skip_copy,omitempty"` // TCP: a receiver has the kernel throw the bytes away (MSG_TRUNC)
	Precise  bool   `json:"precise,omitempty"`   // UDP: a paced sender spins for the last microseconds at any rate
}

// Spec is the traffic that is wanted.
type Spec struct {
	Proto   Proto  `json:"proto"`
	Mode    Mode   `json:"mode"`
	Streams int    `json:"streams"`  // per direction
	RateBps int64  `json:"rate_bps"` // of each stream, of payload; 0 = as fast as it goes
	Size    int    `json:"size"`     // bytes a write or a datagram; 0 = 128 KiB for TCP, what fits the MTU for UDP
	Near    Socket `json:"near,omitzero"`
	Far     Socket `json:"far,omitzero"`
	// NearCalls and FarCalls can be changed without an interruption, except Copy and SkipCopy.
	NearCalls Calls `json:"near_calls,omitzero"`
	FarCalls  Calls `json:"far_calls,omitzero"`
	Probe     int   `json:"probe"` // echo datagrams a second; 0 = none
}

// DefaultSpec is one TCP stream out at full speed with the probe beside it.
func DefaultSpec() Spec {
	return Spec{Proto: TCP, Mode: ModeOut, Streams: 1, Probe: DefaultProbe}
}

// Validate reports the first thing in the Spec that cannot be, in words for the person who asked.
func (s Spec) Validate() error {
	switch s.Proto {
	case TCP, UDP:
	default:
		return fmt.Errorf("protocol %q: tcp or udp", s.Proto)
	}
	switch s.Mode {
	case ModeOut, ModeIn, ModeBoth:
	default:
		return fmt.Errorf("direction %q: out, in or both", s.Mode)
	}
	if s.Streams < 1 || s.Streams > MaxStreams {
		return fmt.Errorf("streams %d: 1 to %d", s.Streams, MaxStreams)
	}
	if s.RateBps < 0 || s.RateBps > MaxRate {
		return fmt.Errorf("rate %d bit/s: 0 (no limit) to 1T", s.RateBps)
	}
	lo, hi := MinTCPSize, MaxTCPSize
	if s.Proto == UDP {
		lo, hi = MinUDPSize, MaxUDPSize
	}
	if s.Size != 0 && (s.Size < lo || s.Size > hi) {
		return fmt.Errorf("size %d bytes: %d to %d for %s", s.Size, lo, hi, s.Proto)
	}
	if s.Probe < 0 || s.Probe > MaxProbe {
		return fmt.Errorf("probe %d/s: 0 (none) to %d", s.Probe, MaxProbe)
	}
	return errors.Join(s.Near.validate("near"), s.Far.validate("far"), s.NearCalls.validate("near"), s.FarCalls.validate("far"))
}

func (c Calls) validate(side string) error {
	switch {
	case c.Batch < 0 || c.Batch > MaxBatch:
		return fmt.Errorf("%s:batch %d datagrams: 0 (automatic) to %d", side, c.Batch, MaxBatch)
	case c.GSO < 0 || c.GSO > MaxGSO:
		return fmt.Errorf("%s:gso %d datagrams: 0 (automatic), 1 (off) to %d", side, c.GSO, MaxGSO)
	case c.GRO != Auto && c.GRO != On && c.GRO != Off:
		return fmt.Errorf("%s:gro %q: on, off or automatic", side, c.GRO)
	case c.Copy != Copy && c.Copy != Vmsplice && c.Copy != Sendfile && c.Copy != ZeroCopy:
		return fmt.Errorf("%s:copy %q: vmsplice, sendfile or zerocopy", side, c.Copy)
	}
	if _, err := ParseCPUs(c.Affinity); err != nil {
		return fmt.Errorf("%s:affinity: %w", side, err)
	}
	return nil
}

func (s Socket) validate(side string) error {
	for _, b := range []struct {
		name string
		v    int
	}{{"sndbuf", s.SndBuf}, {"rcvbuf", s.RcvBuf}} {
		if b.v != 0 && (b.v < MinSockBuf || b.v > MaxSockBuf) {
			return fmt.Errorf("%s:%s %d bytes: %d to %d", side, b.name, b.v, MinSockBuf, MaxSockBuf)
		}
	}
	if s.MSS != 0 && (s.MSS < MinMSS || s.MSS > MaxMSS) {
		return fmt.Errorf("%s:mss %d bytes: %d to %d", side, s.MSS, MinMSS, MaxMSS)
	}
	if s.TOS < 0 || s.TOS > 255 {
		return fmt.Errorf("%s:tos %d: 0 to 255", side, s.TOS)
	}
	if len(s.Congestion) > 15 { // TCP_CA_NAME_MAX is 16 with its NUL (include/uapi/linux/tcp.h)
		return fmt.Errorf("%s:congestion %q: longer than the kernel's 15 characters", side, s.Congestion)
	}
	return nil
}

// Retunes reports whether a running socket can go from s to want: buffers and segment are for its life, and once another
// congestion control was chosen the kernel's own choice is not to be had back.
func (s Socket) Retunes(want Socket) bool {
	return s.SndBuf == want.SndBuf && s.RcvBuf == want.RcvBuf && s.MSS == want.MSS &&
		(s.Congestion == want.Congestion || want.Congestion != "")
}

// Unpaces reports whether TCP that the kernel paces is to go on as want without: by a rate, or by a congestion control that
// has it pace. near and far are the ends as granted. Once it was paced a socket stays so for its life (sk_pacing_status in
// net/core/sock.c and tcp_bbr.c never goes back), which with TSO and GSO off took a fifth of cubic's rate, and half of it
// where bursts were dropped: only new sockets show what want does.
func (s Spec) Unpaces(want Spec, near, far GrantedSocket) bool {
	if s.Proto != TCP {
		return false
	}
	unpaces := func(is, to string) bool {
		return (s.RateBps > 0 || Paces(is)) && want.RateBps == 0 && !Paces(cmp.Or(to, is))
	}
	return s.Mode != ModeIn && unpaces(near.Congestion, want.Near.Congestion) ||
		s.Mode != ModeOut && unpaces(far.Congestion, want.Far.Congestion)
}

// Paces says whether the congestion control has the kernel pace its sockets, as bbr does in all its versions.
func Paces(congestion string) bool { return strings.HasPrefix(congestion, "bbr") }

// Granted is what the kernel gave a running load, read back from its first stream of each end.
type Granted struct {
	Dialect string        `json:"dialect"`
	Size    int           `json:"size"` // bytes a write or a datagram in use
	Near    GrantedSocket `json:"near,omitzero"`
	Far     GrantedSocket `json:"far,omitzero"`
	// Fixed says of what the dialect cannot do or change while it runs why not, by the name it has in the Spec's JSON:
	// "size", "far.sndbuf", "far_calls", "probe".
	Fixed map[string]string `json:"fixed,omitempty"`
	// Serving is what a server answers, and nothing else is there then.
	Serving []Listening `json:"serving,omitempty"`
}

// GrantedSocket is one end of [Granted]. Buffers are as the kernel reports them: twice what was asked.
type GrantedSocket struct {
	SndBuf     int    `json:"sndbuf,omitempty"`
	RcvBuf     int    `json:"rcvbuf,omitempty"`
	Congestion string `json:"congestion,omitempty"`
	MSS        int    `json:"mss,omitempty"` // of the connection, in bytes
}
