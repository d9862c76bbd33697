package engine

import (
	"os/exec"
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
)

// What the near host did stands in the Frames: what its interface counted, and what its queueing discipline dropped.
func TestHostBeside(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	_, err := exec.LookPath("tc")
	need(t, err == nil, "needs tc of iproute2 to drop packets")
	startFar(t)
	run(t, "tc", "qdisc", "add", "dev", "etn0", "root", "tbf", "rate", "50mbit", "burst", "20k", "limit", "40k")
	r := dialOver(t, farIP+":"+port, "etn0")
	r.drive(func(s *metric.Spec) { s.Proto, s.RateBps = metric.UDP, 200_000_000 })
	r.until("an interface that counts", func(f *metric.Frame) bool {
		if f.Host == nil || f.Host.NIC == nil || f.RxBps.Or(0) < 20e6 {
			return false
		}
		counted := 8 * float64(f.Host.NIC.TxBytes) / f.Span
		return counted > 40e6 && counted < 80e6
	})
	f := r.until("drops", func(f *metric.Frame) bool {
		return f.Host != nil && f.Host.Slow != nil && len(f.Host.Slow.Qdiscs) > 0 && f.Host.Slow.Qdiscs[0].Drops > 0
	})
	s := f.Host.Slow
	if q := s.Qdiscs[0]; q.Kind != "tbf" || q.Parent != "root" || q.Overlimits == 0 {
		t.Errorf("qdisc %+v", q)
	}
	if !s.LinkBps.IsZero() || !s.Node.IsZero() {
		t.Errorf("veth has a link of %v on node %v", s.LinkBps, s.Node)
	}
	if len(s.CPUs) == 0 || len(s.Top) == 0 {
		t.Errorf("processors %+v, processes %+v", s.CPUs, s.Top)
	}
}
