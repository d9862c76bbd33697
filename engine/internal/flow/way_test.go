package flow

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

var ways = []string{metric.Copy, metric.Vmsplice, metric.Sendfile, metric.ZeroCopy}

func wayName(way string) string {
	if way == metric.Copy {
		return "copy"
	}
	return way
}

// Every way sends the same bytes in a row, again and again.
func TestWaysSendTheSame(t *testing.T) {
	const size = 10_000 // no whole number of pages, nor of the row
	for _, name := range ways {
		t.Run(wayName(name), func(t *testing.T) {
			a, b := tcpPair(t)
			tx, err := NewTCPSender(a, Config{Size: size, Calls: metric.Calls{Copy: name}})
			if err != nil {
				t.Fatal(err)
			}
			tx.Start()
			got := make([]byte, 1<<16)
			next := byte(0)
			for range 100 {
				n, err := unix.Read(b, got)
				if err != nil || n == 0 {
					t.Fatal(n, err)
				}
				for i, c := range got[:n] {
					if c != next && c != 0 {
						t.Fatalf("byte %d of a read is %d, neither %d nor the first again", i, c, next)
					}
					next = c + 1
				}
			}
			if err := errors.Join(unix.Close(b), tx.Close(), tx.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// What a receiver throws away counts as what it copies does.
func TestSkipCopyCounts(t *testing.T) {
	a, b := tcpPair(t)
	rx, err := NewTCPReceiver(b, Config{Size: 1 << 16, Calls: metric.Calls{SkipCopy: true}})
	if err != nil {
		t.Fatal(err)
	}
	rx.Start()
	const sent = 1 << 20
	for left := sent; left > 0; {
		n, err := unix.Write(a, make([]byte, left))
		if err != nil && !again(err) {
			t.Fatal(err)
		}
		left -= max(n, 0)
	}
	wait(t, "received all", func() bool { return rx.Rx(nil).Bytes == sent })
	if err := errors.Join(unix.Close(a), rx.Close()); err != nil {
		t.Error(err)
	}
}

// Of a peer that does not read each way waits no longer than the kernel's tick, and the stream can be ended.
func TestWaysDoNotBlock(t *testing.T) {
	for _, name := range ways {
		t.Run(wayName(name), func(t *testing.T) {
			a, b := tcpPair(t)
			defer unix.Close(b)
			tx, err := NewTCPSender(a, Config{Size: 1 << 20, Calls: metric.Calls{Copy: name}})
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Close()
			deadline := time.Now().Add(patience)
			for err = nil; err != unix.EAGAIN; _, err = tx.way.write(a, 1<<20) {
				if err != nil && err != unix.EINTR || time.Now().After(deadline) {
					t.Fatalf("a full socket said %v", err)
				}
			}
			var best time.Duration = time.Second // a busy machine makes some of them late
			for range 20 {
				began := time.Now()
				_, _ = tx.way.write(a, 1<<20)
				best = min(best, time.Since(began))
			}
			if best > 15*time.Millisecond {
				t.Errorf("a write to a full socket takes %s", best)
			}
		})
	}
}

func TestWaysDoNotAllocate(t *testing.T) {
	for _, name := range ways {
		t.Run(wayName(name), func(t *testing.T) {
			a, b := tcpPair(t)
			rx, err := NewTCPReceiver(b, Config{Size: 1 << 16, Calls: metric.Calls{SkipCopy: true}})
			if err != nil {
				t.Fatal(err)
			}
			rx.Start()
			defer rx.Close()
			tx, err := NewTCPSender(a, Config{Size: 1 << 16, Calls: metric.Calls{Copy: name}})
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Close()
			var i info
			n := testing.AllocsPerRun(200, func() {
				tx.serve()
				if _, err := tx.way.write(a, 1<<16); err != nil && err != unix.EAGAIN && err != unix.EINTR {
					t.Fatal(err)
				}
				tx.tell(&i)
			})
			if n != 0 {
				t.Errorf("%v allocations a write", n)
			}
		})
	}
}

// A stream that is running takes another congestion control, and says what it has; so does one that is not yet.
func TestTuneARunningStream(t *testing.T) {
	a, b := tcpPair(t)
	tx, err := NewTCPSender(a, Config{Size: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	rx, err := NewTCPReceiver(b, Config{Size: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	has := func(when, want string) {
		t.Helper()
		g, err := tx.Tune(metric.Socket{Congestion: want, NoDelay: true, TOS: 0x10})
		if err != nil || g.Congestion != want || g.MSS == 0 {
			t.Errorf("%s: %+v %v", when, g, err)
		}
	}
	has("before the start", "reno")
	rx.Start()
	tx.Start()
	wait(t, "acknowledged", func() bool { return tx.Tx().Bytes > 1e6 })
	has("running", "cubic")
	if _, err := tx.Tune(metric.Socket{Congestion: "nonesuch"}); !errors.Is(err, unix.ENOENT) {
		t.Errorf("an unknown one: %v", err)
	}
	has("running still", "reno")
	if tos, err := unix.GetsockoptInt(a, unix.IPPROTO_IP, unix.IP_TOS); err != nil || tos != 0x10 {
		t.Errorf("type of service %#x %v", tos, err)
	}
	if err := errors.Join(tx.Close(), rx.Close()); err != nil {
		t.Error(err)
	}
	if _, err := tx.Tune(metric.Socket{}); !errors.Is(err, errClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// The kernel says of a running sender how long it was busy, and what its window is.
func TestTCPInfo(t *testing.T) {
	a, b := tcpPair(t)
	tx, err := NewTCPSender(a, Config{Size: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	rx, err := NewTCPReceiver(b, Config{Size: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	rx.Start()
	tx.Start()
	wait(t, "told of everything", func() bool {
		t := tx.Tx()
		return t.BusyUs > 0 && !t.MinRttMs.IsZero() && t.CwndBytes.Or(0) > 1000 && t.DeliveryBps.Or(0) > 1e6
	})
	if err := errors.Join(tx.Close(), rx.Close()); err != nil {
		t.Error(err)
	}
	// A kernel that fills in less has not said 0.
	var i info
	var to told
	i.n, i.Bytes_acked, i.Busy_time, i.Min_rtt = infoAcked, 5, 7, 9
	to.store(&i, 0)
	if tx := to.load(); tx.Bytes != 5 || tx.BusyUs != 0 || !tx.MinRttMs.IsZero() || !tx.DeliveryBps.IsZero() {
		t.Errorf("%+v", tx)
	}
}

func TestMSS(t *testing.T) {
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: loop.AsSlice()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	fd, err := DialTCP(netip.AddrPort{}, l.Addr().(*net.TCPAddr).AddrPort(), metric.Socket{MSS: 600}, patience)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if g, err := Granted(fd, metric.TCP); err != nil || g.MSS == 0 || g.MSS > 600 {
		t.Errorf("granted %+v %v", g, err)
	}
}

// The type of service goes with the family of the socket.
func TestTOS(t *testing.T) {
	for _, c := range []struct{ peer, level string }{{"127.0.0.1:9", "IP_TOS"}, {"[::1]:9", "IPV6_TCLASS"}} {
		fd, err := DialUDP(netip.AddrPort{}, netip.MustParseAddrPort(c.peer), metric.Socket{TOS: 0xb8})
		if err != nil {
			if c.level == "IPV6_TCLASS" && (errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EADDRNOTAVAIL)) {
				t.Logf("no IPv6 here: %v", err)
				continue
			}
			t.Fatal(err)
		}
		level, opt := unix.IPPROTO_IP, unix.IP_TOS
		if c.level == "IPV6_TCLASS" {
			level, opt = unix.IPPROTO_IPV6, unix.IPV6_TCLASS
		}
		if got, err := unix.GetsockoptInt(fd, level, opt); err != nil || got != 0xb8 {
			t.Errorf("%s %#x %v", c.level, got, err)
		}
		if err := unix.Close(fd); err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkWay is one write of 128 KiB to a receiver that throws it away.
func BenchmarkWay(b *testing.B) {
	for _, name := range ways {
		b.Run(wayName(name), func(b *testing.B) {
			x, y := tcpPair(b)
			c := Config{Size: DefaultTCPSize, Calls: metric.Calls{Copy: name, SkipCopy: true}}
			rx, err := NewTCPReceiver(y, c)
			if err != nil {
				b.Fatal(err)
			}
			rx.Start()
			defer rx.Close()
			tx, err := NewTCPSender(x, c)
			if err != nil {
				b.Fatal(err)
			}
			defer tx.Close()
			b.ReportAllocs()
			for b.Loop() {
				_, _ = tx.way.write(x, DefaultTCPSize)
			}
			b.ReportMetric(float64(rx.Rx(nil).Bytes)*8/b.Elapsed().Seconds()/1e9, "Gb/s")
		})
	}
}
