package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethtune/ethtune/engine/nic"
	"github.com/ethtune/ethtune/tune"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
	"github.com/ethtune/ethtune/tune/rig/agent"
	"github.com/ethtune/ethtune/tune/rig/lab"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// labTarget is the bench on this machine.
const labTarget = "lab"

// target is the bench that the command line names: the lab, or a host to drive traffic against.
type target struct {
	name string   // lab, or HOST[:PORT] as it was written
	peer rig.Peer // of a host
	ip   netip.Addr
	dev  string // of a host
}

// reach is the flags that say how a host is reached.
type reach struct {
	dialect, bind, dev, keyFile string
	port                        int
	connect                     seconds
}

func (r *reach) add(f *pflag.FlagSet) {
	r.connect = seconds(3 * time.Second)
	f.IntVarP(&r.port, "port", "p", 0, "the peer's `port`; default 5202 (ethtune serve), 5201 (iperf3 -s), 5001 (iperf -s), whichever answers")
	f.StringVar(&r.dialect, "dialect", "", "what the peer speaks: native, iperf3 or iperf2; default what it answers")
	f.StringVarP(&r.bind, "bind", "B", "", "local `address` of every socket")
	f.StringVarP(&r.dev, "dev", "I", "", "the `interface` whose knobs are turned; default the one that routes to the host")
	f.StringVar(&r.keyFile, "key-file", "", "`file` with the secret of the server")
	f.Var(&r.connect, "connect-timeout", "how long a connection may take, in `seconds`")
}

// given is the first of these flags that was set, for a bench that has none of them.
func (r *reach) given(f *pflag.FlagSet) string {
	for _, name := range []string{"port", "dialect", "bind", "dev", "key-file", "connect-timeout"} {
		if f.Changed(name) {
			return name
		}
	}
	return ""
}

// maxKey bounds a key file in bytes.
const maxKey = 4096

// readKey reads a shared secret: the whole file but the line end. Anybody who may read it may pass for us.
func readKey(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, usage("--key-file: %s", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxKey+3)) // room for a line end, and to see that it is too long
	if err != nil {
		return nil, usage("--key-file: %s", err)
	}
	key := strings.TrimRight(string(b), "\r\n")
	if len(key) < 8 || len(key) > maxKey {
		return nil, usage("--key-file %s: a key has 8 to %d bytes", path, maxKey)
	}
	return []byte(key), nil
}

// find looks up the host and the interface towards it. ipv4 and ipv6 force a family.
func (r *reach) find(ctx context.Context, name string, ipv4, ipv6 bool) (target, error) {
	t := target{name: name}
	switch r.dialect {
	case "", "native", "iperf3", "iperf2":
	default:
		return t, usage("--dialect %q: native, iperf3 or iperf2", r.dialect)
	}
	host, port, err := splitTarget(name)
	if err != nil {
		return t, err
	}
	if r.port < 0 || r.port > 65535 {
		return t, usage("-p %d: 1 to 65535", r.port)
	}
	if port == 0 {
		port = r.port
	}
	if r.connect <= 0 {
		return t, usage("--connect-timeout %v: above 0", r.connect.String())
	}
	t.peer = rig.Peer{Dialect: r.dialect, Timeout: time.Duration(r.connect)}
	if t.peer.Key, err = readKey(r.keyFile); err != nil {
		return t, err
	}
	if r.bind != "" {
		if t.peer.Bind, err = netip.ParseAddr(r.bind); err != nil {
			return t, usage("-B %q: an address of this host", r.bind)
		}
		ipv4, ipv6 = t.peer.Bind.Is4(), !t.peer.Bind.Is4()
	}
	if t.ip, err = lookUp(ctx, host, ipv4, ipv6, time.Duration(r.connect)); err != nil {
		return t, fmt.Errorf("%w: %s: %w", rig.ErrPeer, host, err)
	}
	t.peer.Addr = net.JoinHostPort(t.ip.String(), strconv.Itoa(port))
	t.dev = r.dev
	if t.dev == "" {
		if t.dev, err = nic.RouteTo(t.ip); err != nil {
			return t, fmt.Errorf("%w: %w", rig.ErrPeer, err)
		}
		return t, nil
	}
	if _, err := net.InterfaceByName(t.dev); err != nil {
		return t, usage("-I %s: there is no such interface; there are: %s", t.dev, strings.Join(interfaceNames(), " "))
	}
	return t, nil
}

// target is the bench of that name, checked: a host is looked up, and has an end for each of the turns.
func (r *reach) target(c *cobra.Command, name string, ipv4, ipv6 bool, turns []turn) (target, error) {
	if name == labTarget {
		if flag := r.given(c.Flags()); flag != "" {
			return target{}, usage("--%s is for a host; the lab is on this machine", flag)
		}
		return target{name: labTarget}, nil
	}
	for _, t := range turns {
		switch ok, why := knob.SettableOutsideLab(t.set.Knob); {
		case !ok:
			return target{}, fmt.Errorf("%w: --set %s: %s", rig.ErrPermission, t.set.Knob, why)
		case t.set.Side == knob.Far && !knob.OfLoad(t.set.Knob):
			return target{}, usage("--set far:%s: there is no agent at %s; turn it there", t.set.Knob, name)
		}
	}
	return r.find(c.Context(), name, ipv4, ipv6)
}

func interfaceNames() []string {
	all, err := net.Interfaces()
	if err != nil {
		return nil
	}
	names := make([]string, len(all))
	for i, ifi := range all {
		names[i] = ifi.Name
	}
	return names
}

// splitTarget reads HOST, HOST:PORT, [V6]:PORT or a bare IPv6 address. Port 0 is the default.
func splitTarget(name string) (host string, port int, err error) {
	if _, err := netip.ParseAddr(name); err == nil {
		return name, 0, nil
	}
	host, text, err := net.SplitHostPort(name)
	if err != nil {
		host, text = strings.Trim(name, "[]"), ""
	}
	if host == "" || strings.ContainsAny(host, " /%@") && !strings.Contains(host, ":") {
		return "", 0, usage("%q is no host: HOST, HOST:PORT or [IPv6]:PORT", name)
	}
	if text == "" {
		return host, 0, nil
	}
	p, err := strconv.ParseUint(text, 10, 16)
	if err != nil || p == 0 {
		return "", 0, usage("%q: port %q: 1 to 65535", name, text)
	}
	return host, int(p), nil
}

// lookUp is the first address of the host that is of the family asked for.
func lookUp(ctx context.Context, host string, ipv4, ipv6 bool, timeout time.Duration) (netip.Addr, error) {
	network := "ip"
	switch {
	case ipv4:
		network = "ip4"
	case ipv6:
		network = "ip6"
	}
	// The resolver answers an address with itself, and forgets its zone.
	if a, err := netip.ParseAddr(host); err == nil && a.Zone() != "" && !ipv4 {
		return a, nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	all, err := net.DefaultResolver.LookupNetIP(ctx, network, host)
	if err != nil {
		return netip.Addr{}, err
	}
	// A host that has both is reached by IPv4 as the lab is, unless it was asked otherwise.
	slices.SortStableFunc(all, func(a, b netip.Addr) int { return a.Unmap().BitLen() - b.Unmap().BitLen() })
	return all[0].Unmap(), nil
}

// lasting are the sides whose settings outlive the run unless they are put back.
func (t target) lasting() []knob.Side {
	if t.name == labTarget {
		return nil // what the screen takes for it
	}
	return []knob.Side{knob.Near, knob.Host}
}

// open opens the bench.
func (t target) open(ctx context.Context, ipv6 bool) (*rig.Bench, error) {
	if t.name == labTarget {
		return openLab(ctx, ipv6)
	}
	near, err := agent.Spawn(ctx, agentCommandLine("--dev", t.dev, "--netns", "--host", "--journal", string(tune.KindSession)))
	if err != nil {
		return nil, err
	}
	return rig.NewBench(near, nil, nil, t.peer), nil
}

// openLab opens a lab whose host-wide knobs are those of this host, written down for the length of the session.
func openLab(ctx context.Context, ipv6 bool) (*rig.Bench, error) {
	return lab.Open(ctx, lab.Options{IPv6: ipv6, Host: agentCommandLine("--host", "--journal", string(tune.KindSession))})
}
