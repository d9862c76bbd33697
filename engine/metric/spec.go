package metric

import (
	"errors"
	"fmt"
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
	// DefaultProbe is the echo stream's rate in datagrams a second.
	DefaultProbe = 200
)

// Socket is what is asked of the load's sockets at one end. A zero field leaves the kernel's own choice.
type Socket struct {
	SndBuf     int    `json:"sndbuf,omitempty"` // SO_SNDBUF in bytes, as asked; the kernel doubles it
	RcvBuf     int    `json:"rcvbuf,omitempty"` // SO_RCVBUF in bytes, as asked; the kernel doubles it
	Congestion string `json:"congestion,omitempty"`
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
	Probe   int    `json:"probe"` // echo datagrams a second; 0 = none
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
	return errors.Join(s.Near.validate("near"), s.Far.validate("far"))
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
	if len(s.Congestion) > 15 { // TCP_CA_NAME_MAX is 16 with its NUL (include/uapi/linux/tcp.h)
		return fmt.Errorf("%s:congestion %q: longer than the kernel's 15 characters", side, s.Congestion)
	}
	return nil
}

// Granted is what the kernel gave a running load, read back from its first stream of each end.
type Granted struct {
	Dialect string        `json:"dialect"`
	Size    int           `json:"size"` // bytes a write or a datagram in use
	Near    GrantedSocket `json:"near,omitzero"`
	Far     GrantedSocket `json:"far,omitzero"`
}

// GrantedSocket is one end of [Granted]. Buffers are as the kernel reports them: twice what was asked.
type GrantedSocket struct {
	SndBuf     int    `json:"sndbuf,omitempty"`
	RcvBuf     int    `json:"rcvbuf,omitempty"`
	Congestion string `json:"congestion,omitempty"`
}
