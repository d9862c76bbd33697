package iperf3

import (
	"testing"

	"github.com/ethtune/ethtune/engine/internal/flow"
)

// BenchmarkDatagram is what a packet costs beside the kernel's part of it, at the sender and at the receiver.
func BenchmarkDatagram(b *testing.B) {
	var w flow.Wire = &datagram{size: header64}
	buf := make([]byte, 1400)
	h := flow.Head{Sent: flow.Wall()}
	b.ReportAllocs()
	for b.Loop() {
		h.Seq++
		w.Put(buf, &h)
		if !w.Get(buf, &h) {
			b.Fatal("none")
		}
	}
}
