package flow

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// BenchmarkGap is the time between two datagrams of a paced stream, by the kernel's stamps on the receiving veth, for two
// seconds at each rate: percentiles in microseconds, and the 99th beside the ideal. The receiver runs as well.
func BenchmarkGap(b *testing.B) {
	for _, c := range []struct {
		name  string
		rate  int64
		calls metric.Calls
	}{
		{"100M", 100e6, metric.Calls{}},
		{"200M", 200e6, metric.Calls{}},
		{"400M", 400e6, metric.Calls{}},
		{"400M/precise", 400e6, metric.Calls{Precise: true}},
		{"1G", 1e9, metric.Calls{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			v := newVeth(b)
			for b.Loop() {
				var tap int
				v.in(b, v.far, func() { tap = openTap(b) })
				near, far := v.sockets(b)
				config := Config{Wire: NewNative(3, 4), Size: benchSize, Rate: c.rate, Calls: c.calls}
				tx := NewUDPSender(near, config)
				config.Wire = NewNative(3, 4)
				rx := NewUDPReceiver(far, config)
				rx.Start()
				tx.Start()
				<-time.After(2 * time.Second)
				sent := tx.Tx()
				if err := tx.Close(); err != nil {
					b.Fatal(err)
				}
				if err := rx.Close(); err != nil {
					b.Fatal(err)
				}
				gaps := gapsOf(b, tap)
				ideal := float64(benchSize) * 8 * 1e6 / float64(c.rate)
				at := func(q float64) float64 { return float64(gaps[int(q*float64(len(gaps)-1))]) / 1e3 }
				b.ReportMetric(ideal, "ideal-us")
				b.ReportMetric(at(0.5), "p50-us")
				b.ReportMetric(at(0.99), "p99-us")
				b.ReportMetric(at(0.999), "p99.9-us")
				b.ReportMetric(at(0.99)/ideal, "p99/ideal")
				b.ReportMetric(float64(sent.Missed), "missed")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// openTap is a packet socket on the far device that keeps all that comes until it is read.
func openTap(b *testing.B) int {
	// Protocols of packet sockets are in network byte order.
	const ipv4 = uint16(unix.ETH_P_IP<<8&0xff00 | unix.ETH_P_IP>>8)
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, int(ipv4))
	if err != nil {
		b.Error(err)
		return -1
	}
	b.Cleanup(func() { _ = unix.Close(fd) })
	for _, o := range []struct{ opt, v int }{{unix.SO_RCVBUFFORCE, 1 << 29}, {unix.SO_TIMESTAMPNS_NEW, 1}} {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, o.opt, o.v); err != nil {
			b.Error(err)
		}
	}
	return fd
}

// gapsOf are the times between the packets of the middle 80 %, sorted, in nanoseconds. Starting and ending is not pacing.
func gapsOf(b *testing.B, tap int) []int64 {
	b.Helper()
	in := newBatch(maxBatch, 64, true)
	var at []int64
	for {
		n, err := in.poll(tap)
		if err != nil {
			break
		}
		for i := range n {
			// Only the load: UDP between our ports.
			d := in.received(i)
			ns, ok := in.stamp(i)
			if ok && len(d) >= 24 && d[9] == unix.IPPROTO_UDP && binary.BigEndian.Uint16(d[22:]) == farPort {
				at = append(at, ns)
			}
		}
	}
	if len(at) < 100 {
		b.Fatalf("only %d packets", len(at))
	}
	at = at[len(at)/10 : len(at)*9/10]
	gaps := make([]int64, 0, len(at))
	for i := 1; i < len(at); i++ {
		gaps = append(gaps, at[i]-at[i-1])
	}
	slices.Sort(gaps)
	return gaps
}
