package iperf3

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// params are a test as the client asks for it. A flag that is off must not be sent, and what is a number must not be sent
// as a boolean.
type params struct {
	TCP           flag   `json:"tcp,omitempty"`
	UDP           flag   `json:"udp,omitempty"`
	SCTP          flag   `json:"sctp,omitempty"`
	Omit          number `json:"omit"` // s
	Time          number `json:"time"` // s; 0 = until the client says so
	Num           number `json:"num"`
	BlockCount    number `json:"blockcount"`
	MSS           number `json:"MSS,omitempty"`
	NoDelay       flag   `json:"nodelay,omitempty"`
	Parallel      number `json:"parallel"`
	Reverse       flag   `json:"reverse,omitempty"`
	Bidirectional flag   `json:"bidirectional,omitempty"`
	Window        number `json:"window,omitempty"` // bytes of both socket buffers
	Len           number `json:"len"`              // bytes a write or a datagram
	Bandwidth     number `json:"bandwidth,omitempty"`
	FQRate        number `json:"fqrate,omitempty"`
	PacingTimer   number `json:"pacing_timer,omitempty"`
	TOS           number `json:"TOS,omitempty"`
	Congestion    string `json:"congestion,omitempty"`
	Output        number `json:"get_server_output,omitempty"`
	Counters64    number `json:"udp_counters_64bit,omitempty"`
	ClientVersion string `json:"client_version"`
}

// Limits of what a client may ask for: those of iperf3's own command line.
const (
	maxTime    = 86400
	maxOmit    = 600
	defaultUDP = 8192 // bytes of a datagram where the client does not say; iperf3's before 3.1.5
)

// parseParams reads what a client sent. What is missing has the default of every version.
func parseParams(b []byte) (*params, error) {
	p := &params{Time: 10, Parallel: 1}
	if err := json.Unmarshal(b, p); err != nil {
		return nil, err
	}
	if p.Len == 0 {
		p.Len = flow.DefaultTCPSize
		if p.UDP {
			p.Len = defaultUDP
		}
	}
	return p, nil
}

// refused is a parameter that a server does not take: an i_errno for the client, a reason for who serves.
type refused struct {
	code   int
	reason string
}

func (r *refused) Error() string { return r.reason }

// check reports the first thing in p that cannot be.
func (p *params) check() error {
	lo, hi := int64(metric.MinTCPSize), int64(metric.MaxTCPSize)
	if p.UDP {
		lo, hi = int64(p.header()), metric.MaxUDPSize
	}
	for _, c := range []struct {
		name   string
		v      number
		lo, hi int64
		code   int
	}{
		{"time", p.Time, 0, maxTime, ieDuration},
		{"omit", p.Omit, 0, maxOmit, ieDuration},
		{"parallel", p.Parallel, 1, metric.MaxStreams, ieStreams},
		{"len", p.Len, lo, hi, ieBlockSize},
		{"window", p.Window, 0, metric.MaxSockBuf, ieBufSize},
		{"MSS", p.MSS, 0, metric.MaxMSS, ieMSS},
		{"TOS", p.TOS, 0, 255, ieParams},
		{"bandwidth", p.Bandwidth, 0, metric.MaxRate, ieParams},
		{"fqrate", p.FQRate, 0, metric.MaxRate, ieParams},
	} {
		if v := c.v.integer(); v < c.lo || v > c.hi {
			return &refused{c.code, fmt.Sprintf("%s %v: %d to %d", c.name, float64(c.v), c.lo, c.hi)}
		}
	}
	if p.SCTP {
		return &refused{ieUnimp, "SCTP is not served"}
	}
	return nil
}

// errCode is the i_errno of an error of a server's session.
func errCode(err error) int {
	var r *refused
	if errors.As(err, &r) {
		return r.code
	}
	return ieNewStreams
}

// proto is the transport of the test.
func (p *params) proto() metric.Proto {
	if p.UDP {
		return metric.UDP
	}
	return metric.TCP
}

// mode is the direction, seen from the client.
func (p *params) mode() metric.Mode {
	switch {
	case bool(p.Bidirectional):
		return metric.ModeBoth
	case bool(p.Reverse):
		return metric.ModeIn
	}
	return metric.ModeOut
}

// dirs are the directions of the streams in the order in which they are opened, seen from the client.
func (p *params) dirs() []metric.Dir {
	var out []metric.Dir
	for _, d := range p.mode().Dirs() {
		for range p.Parallel.integer() {
			out = append(out, d)
		}
	}
	return out
}

// streamID is iperf3's name of the i-th stream: 1, 3, 4, 5 and so on. There is no 2, and never was.
func streamID(i int) int {
	if i == 0 {
		return 1
	}
	return i + 2
}

// rate is what the client asks this end to send a stream at, in bit/s. Its -b and its --fq-rate are both kept to, and
// limit, which is the house's, 0 = none. The rate is 0, as fast as it goes, where there is none of them: of UDP a stock
// client asks that with -b 0 only, and it has proven its address.
func (p *params) rate(limit int64) int64 {
	var least int64
	for _, r := range []int64{int64(p.Bandwidth), int64(p.FQRate), limit} {
		if r > 0 && (least == 0 || r < least) {
			least = r
		}
	}
	return least
}

// socket is what the client asks of this end's sockets. The congestion control is not in it: one that this kernel does not
// have is no reason to end the test.
func (p *params) socket() metric.Socket {
	return metric.Socket{SndBuf: int(p.Window), RcvBuf: int(p.Window), MSS: int(p.MSS), NoDelay: bool(p.NoDelay), TOS: int(p.TOS)}
}

// newParams are those of a test of the spec with size bytes a write or a datagram, which ends when the client says so.
func newParams(s metric.Spec, size int) *params {
	p := &params{
		Parallel: number(s.Streams), Len: number(size), Bandwidth: number(s.RateBps), PacingTimer: 1000,
		Reverse: s.Mode == metric.ModeIn, Bidirectional: s.Mode == metric.ModeBoth,
		Window: number(max(s.Far.SndBuf, s.Far.RcvBuf)), TOS: number(s.Far.TOS),
		ClientVersion: "3.12", // nobody reads it, but 3.1 to 3.21 all send one
	}
	if s.Proto == metric.UDP {
		p.UDP, p.Counters64 = true, 1
		return p
	}
	p.TCP = true
	p.MSS, p.NoDelay, p.Congestion = number(s.Far.MSS), flag(s.Far.NoDelay), s.Far.Congestion
	return p
}
