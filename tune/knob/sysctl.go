package knob

import "math"

// sysctl is what this version knows about turning one sysctl. Its name is the key of sysctls.
type sysctl struct {
	domain Domain
	host   bool // of the kernel as a whole; else each network namespace has its own
	reopen bool // only sockets or connections that are new see a turn of it, whole or in part
}

// sane is the largest number of bytes that is not taken for a slip of the hand: half of what the kernel's int holds, since
// the kernel doubles what it is given (net/core/sock.c __sock_set_rcvbuf).
const sane = math.MaxInt32 / 2

// longestSpin bounds busy polling as typed: with more than a second of it in µs a core does nothing else.
const longestSpin = 1_000_000

// sysctls are the ones that this version turns. Their limits are wider than those of the kernel, which names its own;
// where it has none and a value would stop traffic for good, as tcp_notsent_lowat 0 would (tcp_stream_memory_free), they
// are narrower. When each takes effect is in the catalogue.
var sysctls = map[string]sysctl{
	"sysctl.net.core.netdev_max_backlog":  {domain: sized(0, 1<<24), host: true},
	"sysctl.net.core.netdev_budget":       {domain: sized(1, 1<<20), host: true},
	"sysctl.net.core.netdev_budget_usecs": {domain: sized(1, longestSpin), host: true},
	"sysctl.net.core.dev_weight":          {domain: sized(1, 1<<16), host: true},
	"sysctl.net.core.rmem_max":            {domain: sized(1, sane), host: true, reopen: true},
	"sysctl.net.core.wmem_max":            {domain: sized(1, sane), host: true, reopen: true},
	"sysctl.net.core.rmem_default":        {domain: sized(1, sane), host: true, reopen: true},
	"sysctl.net.core.wmem_default":        {domain: sized(1, sane), host: true, reopen: true},
	"sysctl.net.core.default_qdisc":       {domain: Domain{Kind: Name}, host: true},
	"sysctl.net.core.busy_poll":           {domain: sized(0, longestSpin), host: true},
	"sysctl.net.core.busy_read":           {domain: sized(0, longestSpin), host: true, reopen: true},

	"sysctl.net.ipv4.tcp_rmem":                  {domain: vector(1, sane), reopen: true},
	"sysctl.net.ipv4.tcp_wmem":                  {domain: vector(1, sane), reopen: true},
	"sysctl.net.ipv4.tcp_congestion_control":    {domain: Domain{Kind: Name}, reopen: true},
	"sysctl.net.ipv4.tcp_window_scaling":        {domain: choice("0", "1"), reopen: true},
	"sysctl.net.ipv4.tcp_sack":                  {domain: choice("0", "1"), reopen: true},
	"sysctl.net.ipv4.tcp_timestamps":            {domain: choice("0", "1", "2"), reopen: true},
	"sysctl.net.ipv4.tcp_moderate_rcvbuf":       {domain: choice("0", "1")},
	"sysctl.net.ipv4.tcp_limit_output_bytes":    {domain: sized(1, sane)},
	"sysctl.net.ipv4.tcp_notsent_lowat":         {domain: number(1, math.MaxUint32)},
	"sysctl.net.ipv4.tcp_slow_start_after_idle": {domain: choice("0", "1")},
	"sysctl.net.ipv4.tcp_autocorking":           {domain: choice("0", "1")},
	"sysctl.net.ipv4.tcp_mtu_probing":           {domain: choice("0", "1", "2"), reopen: true},
	"sysctl.net.ipv4.tcp_no_metrics_save":       {domain: choice("0", "1"), reopen: true},
	"sysctl.net.ipv4.tcp_ecn":                   {domain: sized(0, 5), reopen: true},
	"sysctl.net.ipv4.udp_rmem_min":              {domain: sized(1, sane)},
	"sysctl.net.ipv4.udp_wmem_min":              {domain: sized(1, sane)},
}

// sized is a number of a kernel's int; above usual it is taken for a slip where a person typed it.
func sized(lo, usual int64) Domain {
	d := number(lo, math.MaxInt32)
	d.Usual = usual
	return d
}

// vector is three such numbers.
func vector(lo, usual int64) Domain {
	d := sized(lo, usual)
	d.Kind = Vector
	return d
}

// ReopensLoad reports whether only new sockets or connections see a turn of the knob, whole or in part, so that a running
// load has to open its streams again for the turn to be seen. tcp_rmem and tcp_wmem are among them because a buffer that
// has grown is not cut down again, though a higher limit is used at once.
func ReopensLoad(name string) bool { return sysctls[name].reopen }
