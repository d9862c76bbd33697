package flow

import (
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
)

// benchSize is the payload that fits an MTU of 1500 with IPv6 as well.
const benchSize = 1448

// BenchmarkUDP runs a stream over a veth pair in every mode, for a second each, and reports what arrived: datagrams a
// second, Gbit/s of payload, and the loss in percent. Compare figures of one run only.
func BenchmarkUDP(b *testing.B) {
	for _, c := range []struct {
		name     string
		rate     int64
		from, to metric.Calls
	}{
		{"unlimited/auto", 0, metric.Calls{}, metric.Calls{}},
		{"unlimited/write-read", 0, metric.Calls{Batch: 1, GSO: 1}, metric.Calls{Batch: 1, GRO: metric.Off}},
		{"unlimited/sendmmsg-recvmmsg", 0, metric.Calls{GSO: 1}, metric.Calls{GRO: metric.Off}},
		{"unlimited/sendmmsg-gro", 0, metric.Calls{GSO: 1}, metric.Calls{GRO: metric.On}},
		{"unlimited/gso16-gro", 0, metric.Calls{GSO: 16}, metric.Calls{GRO: metric.On}},
		{"unlimited/gso-gro", 0, metric.Calls{GSO: metric.MaxGSO}, metric.Calls{GRO: metric.On}},
		{"unlimited/gso-recvmmsg", 0, metric.Calls{GSO: metric.MaxGSO}, metric.Calls{GRO: metric.Off}},
		{"100M", 100e6, metric.Calls{}, metric.Calls{}},
		{"400M", 400e6, metric.Calls{}, metric.Calls{}},
		{"1G", 1e9, metric.Calls{}, metric.Calls{}},
		{"1G/gso8", 1e9, metric.Calls{GSO: 8}, metric.Calls{GRO: metric.On}},
		{"5G", 5e9, metric.Calls{}, metric.Calls{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			v := newVeth(b)
			for b.Loop() {
				near, far := v.sockets(b)
				wire := func() Wire { return NewNative(3, 4) }
				tx := NewUDPSender(near, Config{Wire: wire(), Size: benchSize, Rate: c.rate, Calls: c.from})
				rx := NewUDPReceiver(far, Config{Wire: wire(), Size: benchSize, Rate: c.rate, Calls: c.to})
				runStream(b, tx, rx, c.rate)
			}
		})
	}
}

// runStream runs one stream for a second and reports it.
func runStream(b *testing.B, tx *UDPSender, rx *UDPReceiver, rate int64) {
	b.Helper()
	rx.Start()
	tx.Start()
	wait(b, "running", func() bool { return rx.Rx(nil).Packets > 0 })
	var h metric.Hist
	begin, tx0, rx0, cpu := Mono(), tx.Tx(), rx.Rx(&h), CPU()
	<-time.After(time.Second)
	end, tx1, rx1 := Mono(), tx.Tx(), rx.Rx(&h)
	cpu = CPU() - cpu
	if err := tx.Close(); err != nil {
		b.Fatal(err)
	}
	final, err := rx.Finish(tx.Tx().Packets)
	if err != nil {
		b.Fatal(err)
	}
	seconds := float64(end-begin) / 1e9
	b.ReportMetric(float64(rx1.Packets-rx0.Packets)/seconds, "pps")
	b.ReportMetric(float64(rx1.Bytes-rx0.Bytes)*8/seconds/1e9, "Gbit/s")
	b.ReportMetric(100*float64(final.Lost())/float64(final.Expected), "loss%")
	b.ReportMetric(100*float64(final.Drops)/float64(final.Expected), "drops%")
	b.ReportMetric(float64(tx1.Packets-tx0.Packets)/float64(max(1, tx1.Calls-tx0.Calls)), "sent/call")
	b.ReportMetric(float64(rx1.Packets-rx0.Packets)/float64(max(1, rx1.Calls-rx0.Calls)), "got/call")
	b.ReportMetric(float64(cpu)/1e9/(float64(rx1.Bytes-rx0.Bytes)/1e9), "cpu-s/GB")
	if q, ok := rx1.Lag.Quantile(0.99); ok {
		b.ReportMetric(float64(q)/1e3, "lag-p99-us")
	}
	if rate > 0 {
		got := float64(tx1.Bytes-tx0.Bytes) * 8 / seconds
		b.ReportMetric(100*(got/float64(rate)-1), "rate-err%")
	}
	b.ReportMetric(0, "ns/op")
}
