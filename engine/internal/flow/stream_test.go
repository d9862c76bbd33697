package flow

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

var loop = netip.MustParseAddr("127.0.0.1")

// udpPair is two connected UDP sockets on the loopback.
func udpPair(t testing.TB) (int, int) {
	t.Helper()
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: loop.AsSlice()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// The port is held until both sockets have it.
	a, err := DialUDP(netip.AddrPort{}, c.LocalAddr().(*net.UDPAddr).AddrPort(), metric.Socket{})
	if err != nil {
		t.Fatal(err)
	}
	sa, err := unix.Getsockname(a)
	if err != nil {
		t.Fatal(err)
	}
	b, err := DialUDP(netip.AddrPort{}, netip.AddrPortFrom(loop, uint16(sa.(*unix.SockaddrInet4).Port)), metric.Socket{})
	if err != nil {
		t.Fatal(err)
	}
	other, err := unix.Getsockname(b)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Connect(a, other); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// load34 is one end of stream 3 of the session with tag 4.
func load34(size int, bps int64) Config { return Config{Wire: NewNative(3, 4), Size: size, Rate: bps} }

// patience is how long a test waits for what a busy machine may make late and only a fault keeps away.
const patience = time.Minute

// wait waits until ok.
func wait(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(late) {
			t.Fatalf("never %s", what)
		}
	}
}

// again says whether a call on a socket that waits for a turn only, see [turn], is to be made once more.
func again(err error) bool { return err == unix.EAGAIN || err == unix.EINTR }

func TestUDPStream(t *testing.T) {
	a, b := udpPair(t)
	tx, rx := NewUDPSender(a, load34(500, 40e6)), NewUDPReceiver(b, load34(500, 0))
	rx.Start()
	tx.Start()
	wait(t, "received 500", func() bool { return rx.Rx(nil).Packets > 500 })
	if err := tx.Aim(0, metric.Calls{}); err != nil {
		t.Fatal(err)
	}
	wait(t, "received 50000", func() bool { return rx.Rx(nil).Packets > 50_000 })
	if err := tx.Close(); err != nil {
		t.Fatal(err)
	}
	sent := tx.Tx()
	var h metric.Hist
	got := rx.Rx(&h)
	final, err := rx.Finish(sent.Packets)
	if err != nil {
		t.Fatal(err)
	}
	if final.Expected != sent.Packets || final.Lost()+final.Packets != sent.Packets {
		t.Errorf("sent %+v, received %+v", sent, final)
	}
	if got.User || got.JitterNs.IsZero() || h.N() == 0 || got.NoDrops {
		t.Errorf("received %+v, %d jitters", got, h.N())
	}
}

// What the sender sent last and nobody received is lost, although no later datagram shows the gap.
func TestTailLoss(t *testing.T) {
	a, b := udpPair(t)
	rx := NewUDPReceiver(b, load34(500, 0))
	rx.Start()
	if err := unix.Close(a); err != nil {
		t.Fatal(err)
	}
	if got, err := rx.Finish(10); err != nil || got.Lost() != 10 {
		t.Errorf("%+v %v", got, err)
	}
}

func TestForeignDatagramsDoNotCount(t *testing.T) {
	a, b := udpPair(t)
	rx := NewUDPReceiver(b, load34(500, 0))
	rx.Start()
	for _, h := range []header{{kind: kindLoad, id: 3, tag: 5}, {kind: kindLoad, id: 2, tag: 4}, {kind: kindProbe, id: 3, tag: 4}} {
		d := make([]byte, 500)
		h.put(d)
		if _, err := unix.Write(a, d); err != nil {
			t.Fatal(err)
		}
	}
	good := make([]byte, 500)
	(&header{kind: kindLoad, id: 3, tag: 4}).put(good)
	if _, err := unix.Write(a, good); err != nil {
		t.Fatal(err)
	}
	wait(t, "received", func() bool { return rx.Rx(nil).Packets > 0 })
	if got := rx.Rx(nil); got.Packets != 1 || got.Bytes != 500 {
		t.Errorf("%+v", got)
	}
	rx.Close()
	unix.Close(a)
}

func TestProbeOverLoopback(t *testing.T) {
	a, b := udpPair(t)
	r, err := NewReflector(b, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	r.Start()
	p, err := NewProbe(a, 1, 2, 2000)
	if err != nil {
		t.Fatal(err)
	}
	p.Start()
	var last *ProbeReading
	wait(t, "100 echoes", func() bool { last = p.Read(Mono()); return last.Back.Packets > 100 && !last.RttMs.IsZero() })
	if last.User || last.Out.Lost+last.Back.Lost > last.Back.Packets/2 {
		t.Errorf("%+v", last)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A sender that is blocked because nobody reads ends when it is told to.
func TestCloseEndsABlockedSender(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[1])
	s, err := NewTCPSender(fds[0], Config{Size: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	wait(t, "blocked", func() bool { return CPU() > 0 })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Err(); err != nil {
		t.Error(err)
	}
}

// tcpPair is a connected pair of TCP sockets on the loopback.
func tcpPair(t testing.TB) (int, int) {
	t.Helper()
	l, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: loop.AsSlice()})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := DialTCP(netip.AddrPort{}, l.Addr().(*net.TCPAddr).AddrPort(), metric.Socket{}, patience)
	if err != nil {
		t.Fatal(err)
	}
	c, err := l.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f, err := c.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := unix.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return a, b
}

// A sender tells what was acknowledged while it runs, takes a new rate, and what it told last stands after its end.
func TestTCPStream(t *testing.T) {
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
	wait(t, "10 MB acknowledged", func() bool { return tx.Tx().Bytes > 10e6 && !tx.Tx().RttMs.IsZero() })
	if err := tx.Aim(8e6, metric.Calls{}); err != nil {
		t.Fatal(err)
	}
	wait(t, "paced", func() bool {
		v, err := unix.GetsockoptInt(a, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE)
		return err == nil && v == 2e6 // see allowance
	})
	if err := tx.Close(); err != nil {
		t.Fatal(err)
	}
	sent := tx.Tx().Bytes
	got, err := rx.Finish(0)
	if err != nil || sent < 10e6 || got.Bytes == 0 {
		t.Errorf("%d acknowledged, %d read: %v", sent, got.Bytes, err)
	}
	if tx.Err() != nil || rx.Err() != nil {
		t.Error(tx.Err(), rx.Err())
	}
}

// BenchmarkTell is what a TCP sender does every [tellEvery].
func BenchmarkTell(b *testing.B) {
	x, y := tcpPair(b)
	defer unix.Close(y)
	s, err := NewTCPSender(x, Config{Size: 1 << 16})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var i info
	b.ReportAllocs()
	for b.Loop() {
		s.tell(&i)
	}
}
