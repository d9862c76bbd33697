package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/spf13/pflag"
)

// traffic is the flags that say what the load is. Letters and meanings are iperf3's.
type traffic struct {
	udp, reverse, bidir, ipv6, ipv4 bool
	streams, probe                  int
	rate, size, window, mss         number
	congestion, affinity            string
	tos                             string
	noDelay, copyless, skipCopy     bool
	precise                         bool
}

func (t *traffic) add(f *pflag.FlagSet) {
	t.rate.base, t.size.base, t.window.base, t.mss.base = 1000, 1024, 1024, 1024
	f.BoolVarP(&t.udp, "udp", "u", false, "UDP instead of TCP")
	f.BoolVarP(&t.reverse, "reverse", "R", false, "the far end sends")
	f.BoolVar(&t.bidir, "bidir", false, "both ends send")
	f.IntVarP(&t.streams, "parallel", "P", 1, "`streams` in each direction")
	f.VarP(&t.rate, "bitrate", "b", "bit/s of each stream, K M G are 1000-based, 0 = no limit (UDP without it: 1M as in iperf3)")
	f.VarP(&t.size, "length", "l", "`bytes` a write or a datagram, K M are 1024-based")
	f.VarP(&t.window, "window", "w", "socket buffers at both ends in `bytes`, K M are 1024-based; the kernel doubles it")
	f.StringVarP(&t.congestion, "congestion", "C", "", "TCP congestion control `name` at both ends")
	f.VarP(&t.mss, "set-mss", "M", "TCP maximum segment size in `bytes` at both ends")
	f.BoolVarP(&t.noDelay, "no-delay", "N", false, "TCP_NODELAY at both ends")
	f.StringVarP(&t.tos, "tos", "S", "", "IP type of service `byte`, 0 to 255, 0x and octal as in iperf3")
	f.StringVarP(&t.affinity, "affinity", "A", "", "processors of the traffic threads, `NEAR[,FAR]`, each a number or a range such as 0-1")
	f.BoolVarP(&t.copyless, "zerocopy", "Z", false, "TCP senders hand over pages instead of copying (vmsplice)")
	f.BoolVar(&t.skipCopy, "skip-rx-copy", false, "TCP receivers have the kernel drop the bytes instead of copying")
	f.BoolVar(&t.precise, "precise", false, "UDP senders spin before each datagram, at the price of a processor")
	f.IntVar(&t.probe, "probe", metric.DefaultProbe, "`echoes` a second that measure jitter, loss and RTT beside the load; 0 = none")
	f.BoolVarP(&t.ipv6, "version6", "6", false, "run over IPv6")
	f.BoolVarP(&t.ipv4, "version4", "4", false, "run over IPv4 (the default)")
}

// udpRate is iperf3's rate of a UDP stream where none is asked (iperf.h UDP_RATE).
const udpRate = 1_000_000

// spec checks the flags and makes the load they ask for.
func (t *traffic) spec() (metric.Spec, error) {
	s := metric.DefaultSpec()
	switch {
	case t.reverse && t.bidir:
		return s, usage("-R and --bidir exclude each other")
	case t.ipv4 && t.ipv6:
		return s, usage("-4 and -6 exclude each other")
	case t.reverse:
		s.Mode = metric.ModeIn
	case t.bidir:
		s.Mode = metric.ModeBoth
	}
	if t.udp {
		s.Proto = metric.UDP
		if !t.rate.given {
			t.rate.v = udpRate
		}
		if t.congestion != "" {
			return s, usage("-C is a TCP option; it does nothing with -u")
		}
	}
	if t.size.v > math.MaxInt32 {
		return s, usage("-l %d bytes: at most %d", t.size.v, metric.MaxTCPSize)
	}
	if w := t.window.v; t.window.given && (w < metric.MinSockBuf || w > metric.MaxSockBuf) {
		return s, usage("-w %d bytes: %d to %d", w, metric.MinSockBuf, metric.MaxSockBuf)
	}
	s.Streams, s.RateBps, s.Size, s.Probe = t.streams, t.rate.v, int(t.size.v), t.probe
	sock := metric.Socket{SndBuf: int(t.window.v), RcvBuf: int(t.window.v), Congestion: t.congestion}
	if t.udp && (t.mss.given || t.noDelay || t.copyless || t.skipCopy) {
		return s, usage("-M, -N, -Z and --skip-rx-copy are TCP options; they do nothing with -u")
	}
	sock.MSS, sock.NoDelay = int(min(t.mss.v, math.MaxInt32)), t.noDelay
	if t.tos != "" {
		n, err := strconv.ParseUint(t.tos, 0, 8)
		if err != nil {
			return s, usage("-S %q: 0 to 255, 0x and octal are understood", t.tos)
		}
		sock.TOS = int(n)
	}
	s.Near, s.Far = sock, sock
	if err := t.calls(&s); err != nil {
		return s, err
	}
	if t.size.given && t.size.v == 0 {
		return s, usage("-l 0: a write has at least 1 byte")
	}
	if err := s.Validate(); err != nil {
		return s, usage("%s", oneLine(err))
	}
	return s, nil
}

// calls fills in how the traffic threads of both ends work, and where.
func (t *traffic) calls(s *metric.Spec) error {
	c := metric.Calls{SkipCopy: t.skipCopy, Precise: t.precise}
	if t.copyless {
		c.Copy = metric.Vmsplice
	}
	s.NearCalls, s.FarCalls = c, c
	near, far, both := strings.Cut(t.affinity, ",")
	if strings.Contains(far, ",") || both && far == "" {
		return usage("-A %q: NEAR or NEAR,FAR, each a number or a range such as 0-1", t.affinity)
	}
	s.NearCalls.Affinity, s.FarCalls.Affinity = near, far
	return nil
}

// number is a flag of a whole number with a unit letter. K M G T count by base; Ki Mi Gi Ti always by 1024.
type number struct {
	v     int64
	base  int64
	given bool
}

func (n *number) Type() string { return "number" }

func (n *number) String() string {
	if n.v == 0 {
		return ""
	}
	return strconv.FormatInt(n.v, 10)
}

func (n *number) Set(s string) error {
	v, err := knob.ParseNumber(s, n.base)
	if err != nil {
		return err
	}
	n.v, n.given = v, true
	return nil
}

// seconds is a flag of a time: a number of seconds, or a Go duration.
type seconds time.Duration

func (s *seconds) Type() string { return "seconds" }
func (s *seconds) String() string {
	return strconv.FormatFloat(time.Duration(*s).Seconds(), 'g', -1, 64)
}

func (s *seconds) Set(text string) error {
	d, err := parseSeconds(text)
	if err == nil {
		*s = seconds(d)
	}
	return err
}

// parseSeconds reads "15", "1.5" or "500ms". It is never negative.
func parseSeconds(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if f, ferr := strconv.ParseFloat(text, 64); ferr == nil && !math.IsNaN(f) && math.Abs(f) < 1e9 {
		d, err = time.Duration(f*float64(time.Second)), nil
	}
	if err != nil {
		return 0, fmt.Errorf("not seconds nor a duration like 90s or 5m")
	}
	if d < 0 {
		return 0, fmt.Errorf("negative")
	}
	return d, nil
}
