package knob

import (
	"slices"
	"strings"
)

// notYet is said of what may cut the link while nothing stands by to put it back.
const notYet = "not yet: this may cut the link"

// NeedsAdmin is why a knob is fixed for whoever has not the right to turn it.
const NeedsAdmin = "needs CAP_NET_ADMIN"

// Settable reports whether this version turns the knob, and if not why, in words for a line of its own. Whether the host
// has the knob is another question, and so is whether it may be turned on an interface that others use:
// [SettableOutsideLab].
func Settable(name string) (ok bool, why string) {
	switch name {
	case "dev.mtu", "dev.tx_queue_len",
		"socket.sndbuf", "socket.rcvbuf", "socket.congestion",
		"engine.rate", "engine.streams", "engine.size", "engine.mode", "engine.protocol",
		"engine.batch", "engine.gso", "engine.gro", "engine.affinity", "socket.nodelay", "socket.maxseg", "socket.tos":
		return true, ""
	}
	family := Family(name)
	if _, ok := sysctls[name]; ok || family == "feature" {
		return true, ""
	}
	doc, known := Lookup(name)
	switch {
	case !known:
		return false, "not supported: no such knob"
	case strings.EqualFold(doc.Range, "read only") || strings.HasPrefix(doc.Range, "READ ONLY"):
		return false, "read only"
	case family == "coalesce", family == "ring":
		return true, ""
	case doc.CutsLink():
		return false, notYet
	case family == "sysctl":
		return false, "not yet: this sysctl is not turned in this version"
	}
	return false, "not yet: " + family + " knobs are not turned in this version"
}

// SettableOutsideLab is [Settable] for an interface that is not the lab's own, where a turn can cut the session it is made
// from and nothing yet stands by to take it back: gro, gso and tso with their bits, sysctls, and what belongs to the load.
func SettableOutsideLab(name string) (ok bool, why string) {
	if ok, why := Settable(name); !ok {
		return false, why
	}
	switch Family(name) {
	case "sysctl", "socket", "engine":
		return true, ""
	}
	for _, free := range []string{"feature.rx-gro", "feature.tx-generic-segmentation", "feature.tso"} {
		if name == free || slices.Contains(Members(free), name) {
			return true, ""
		}
	}
	return false, notYet
}

// Sysctls lists the sysctls that this version turns, in the order they are shown: those of the kernel as a whole, or those
// that each network namespace has for itself.
func Sysctls(hostWide bool) []string {
	var names []string
	for _, d := range catalogue().docs {
		if s, ok := sysctls[d.Key]; ok && s.host == hostWide {
			names = append(names, d.Key)
		}
	}
	return names
}
