package kerneltest

// rule is one dependency of netdev_fix_features: each bit is dropped unless one of needs is left.
type rule struct {
	bits, needs []string
}

// rules in the kernel's order. The accecn bit has none on Linux 6.18: it stays on after "tx off".
var rules = []rule{
	{[]string{"tx-tcp-segmentation"}, []string{"tx-checksum-ip-generic", "tx-checksum-ipv4"}},
	{[]string{"tx-tcp6-segmentation"}, []string{"tx-checksum-ip-generic", "tx-checksum-ipv6"}},
	{[]string{"tx-tcp-mangleid-segmentation"}, []string{"tx-tcp-segmentation"}},
	{[]string{"tx-tcp-segmentation", "tx-tcp6-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation",
		"tx-tcp-accecn-segmentation", "tx-generic-segmentation"}, []string{"tx-scatter-gather"}},
	{[]string{"tx-tcp-ecn-segmentation"}, []string{"tx-tcp-segmentation", "tx-tcp6-segmentation"}},
	{[]string{"tx-udp-segmentation"}, []string{"tx-checksum-ip-generic", "tx-checksum-ipv4", "tx-checksum-ipv6"}},
}

// fix makes the active bits from the wanted ones. The lock is held.
func (h *Host) fix() {
	active := make(map[string]bool)
	for _, f := range h.features {
		active[f.Name] = f.Active
		if f.Changeable() {
			active[f.Name] = f.Wanted
		}
	}
	if h.SmallTSO != 0 && h.link.MTU > h.SmallTSO {
		active["tx-tcp-segmentation"], active["tx-tcp6-segmentation"] = false, false
	}
	for _, r := range rules {
		met := false
		for _, n := range r.needs {
			met = met || active[n]
		}
		for _, b := range r.bits {
			active[b] = active[b] && met
		}
	}
	for i := range h.features {
		h.features[i].Active = active[h.features[i].Name]
	}
}
