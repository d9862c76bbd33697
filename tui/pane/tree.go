package pane

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ethtune/ethtune/tune/knob"
)

// everyday is what stands first in each family: the knobs that people turn most.
var everyday = []string{
	"feature.tso", "feature.tx-generic-segmentation", "feature.rx-gro", "feature.tx-scatter-gather", "feature.tx",
	"feature.rx-checksum", "feature.rx-lro",
	"coalesce.rx-usecs", "coalesce.tx-usecs", "ring.rx", "ring.tx",
	"dev.mtu", "dev.tx_queue_len",
	"socket.sndbuf", "socket.rcvbuf", "socket.congestion",
	"engine.rate", "engine.streams", "engine.size", "engine.mode", "engine.protocol",
	"sysctl.net.core.netdev_max_backlog", "sysctl.net.core.netdev_budget", "sysctl.net.ipv4.tcp_rmem",
	"sysctl.net.ipv4.tcp_wmem", "sysctl.net.core.rmem_max", "sysctl.net.core.wmem_max",
}

// The headings of the tree, in their order.
const (
	headFeatures = "features"
	headDriver   = "coalesce and ring"
	headDev      = "dev"
	headSocket   = "socket"
	headLoad     = "load"
	headSysctl   = "sysctl"
	headMore     = "more"
	headMoreBits = "more features"
	headFixed    = "fixed"
)

var headings = []string{
	headFeatures, headDriver, headDev, headSocket, headLoad, headSysctl, headMore, headMoreBits, headFixed,
}

// heading is the branch of the tree that a row hangs on. A device has dozens of feature bits that nobody turns; they would
// push the other families out of view.
func heading(r *row) string {
	switch knob.Family(r.name) {
	case "feature":
		switch {
		case slices.Contains(everyday, r.name):
			return headFeatures
		case r.fixed() != "":
			return headFixed
		}
		return headMoreBits
	case "coalesce", "ring":
		return headDriver
	case "dev":
		return headDev
	case "socket":
		return headSocket
	case "engine":
		return headLoad
	case "sysctl":
		return headSysctl
	}
	return headMore
}

// inTree orders rows by family, what is turned most first.
func inTree(a, b *row) int {
	return cmp.Or(
		cmp.Compare(slices.Index(headings, a.head), slices.Index(headings, b.head)),
		cmp.Compare(rank(a.name), rank(b.name)),
		strings.Compare(a.name, b.name))
}

// inList orders rows for a list without headings: what can be turned first, each part as in the tree.
func inList(a, b *row) int {
	return cmp.Or(cmp.Compare(turnable(b), turnable(a)), inTree(a, b))
}

func turnable(r *row) int {
	if r.fixed() == "" {
		return 1
	}
	return 0
}

// rank is where a knob stands in its family. Features that are not turned every day stand by name, so that those of one
// kind are together; the rest as in the catalogue.
func rank(name string) int {
	if i := slices.Index(everyday, name); i >= 0 {
		return i
	}
	if knob.Family(name) == "feature" {
		return len(everyday)
	}
	return len(everyday) + knob.Place(name)
}
