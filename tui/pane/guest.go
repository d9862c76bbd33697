package pane

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
)

// What happens to a guest, as a [metric.Guest] says it. Between the two it is told of each second.
const (
	guestIn  = "in"
	guestOut = "out"
)

// maxWords bounds what is kept of a peer's own words, in cells.
const maxWords = 200

// guest is one session of a server.
type guest struct {
	metric.Guest        // the newest record
	speed        speed  // of its bytes
	host         string // the peer's address
	ending       bool   // its end was asked for from here
}

func newGuest(g *metric.Guest) *guest {
	n := &guest{}
	n.take(g)
	return n
}

// take makes g the newest record. Its words are a peer's: what could break the screen goes.
func (n *guest) take(g *metric.Guest) {
	n.Guest = *g
	n.Peer, n.Dialect, n.Reason = clean(g.Peer), clean(g.Dialect), clean(g.Reason)
	n.Proto = metric.Proto(clean(string(g.Proto)))
	n.host = hostOf(n.Peer)
}

// clean is s in at most maxWords cells that each show one visible sign.
func clean(s string) string {
	return strings.Map(chart.Printable, cut(s, maxWords))
}

// hostOf is the address in host:port, without brackets.
func hostOf(peer string) string {
	if a, err := netip.ParseAddrPort(peer); err == nil {
		return a.Addr().Unmap().String()
	}
	return peer
}

// load is what the guest does in a few words, seen from here: "tcp ×4 out". It is empty before that is known.
func (n *guest) load() string {
	if n.Proto == "" {
		return ""
	}
	return strings.TrimSuffix(n.streams()+" "+n.way(), " ")
}

// streams is the protocol and how many streams there are.
func (n *guest) streams() string {
	if n.Streams < 2 {
		return string(n.Proto)
	}
	return fmt.Sprintf("%s ×%d", n.Proto, n.Streams)
}

// way is the direction seen from here: what a guest sends comes in.
func (n *guest) way() string {
	return map[metric.Mode]string{metric.ModeOut: "in", metric.ModeIn: "out", metric.ModeBoth: "both"}[n.Mode]
}

// bps is the guest's speed in bit/s, absent while it is not known: both directions together where it has both.
func (n *guest) bps(at time.Time) metric.Num {
	if !n.speed.known(at) {
		return metric.Num{}
	}
	return metric.N(n.speed.in + n.speed.out)
}

// mean is the speed over the whole session in bit/s, absent for one of no time.
func (n *guest) mean() metric.Num {
	if n.Seconds <= 0 {
		return metric.Num{}
	}
	return metric.N(8 * (float64(n.RxBytes) + float64(n.TxBytes)) / n.Seconds)
}

// lossPct is the loss over the whole session in percent, absent where no packet was looked for.
func (n *guest) lossPct() metric.Num {
	packets := n.Packets.Or(0)
	if packets <= 0 || n.Lost.IsZero() {
		return metric.Num{}
	}
	return metric.N(100 * n.Lost.Float() / packets)
}

// stay is how long the guest has been here: "1:52", "1:02:03".
func (n *guest) stay() string {
	s := int(max(0, min(n.Seconds, 1e9)))
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
