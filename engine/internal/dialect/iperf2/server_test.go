package iperf2

import (
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

func TestServerSendsNoMoreThanAsked(t *testing.T) {
	iperf(t)
	s, g := serve(t, "127.0.0.1", metric.Rules{})
	stockClient(t, s.Addr(), "-R", "-n", "10M")
	await(t, "end of the guest", func() bool { return len(g.left()) == 1 })
	if m := g.left()[0]; m.TxBytes != 10<<20 || m.Reason != "" {
		t.Errorf("%+v", m)
	}
}

func TestServerKeepsToTheRate(t *testing.T) {
	iperf(t)
	s, g := serve(t, "127.0.0.1", metric.Rules{RateBps: 50_000_000})
	stockClient(t, s.Addr(), "-R", "-t", "1")
	await(t, "end of the guest", func() bool { return len(g.left()) == 1 })
	// A second of it and what is on its way; a busy machine may take longer.
	if m := g.left()[0]; m.TxBytes == 0 || float64(m.TxBytes) > 50_000_000/8*(m.Seconds+0.5) {
		t.Errorf("%+v", m)
	}
}

// ask opens a connection whose head is a header as a client sends it.
func ask(t testing.TB, addr, header string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Write(unhex(t, header)); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestServerDoesNotConnectBack(t *testing.T) {
	s, g := serve(t, "127.0.0.1", metric.Rules{})
	c := ask(t, s.Addr(), tcpLegacy)
	c.Write(make([]byte, 100_000))
	c.Close()
	await(t, "end of the guest", func() bool { return len(g.left()) == 1 })
	if m := g.left()[0]; m.Reason != noLegacy || m.RxBytes != 100_060 {
		t.Errorf("%+v", m)
	}
}

func TestServerEndsGuests(t *testing.T) {
	for name, end := range map[string]func(*Server){
		"kick":  func(s *Server) { s.house.Kick(1, "enough") },
		"close": func(s *Server) { s.Close() },
	} {
		for _, header := range []string{tcpPlain, tcpReverse, tcpFull, ""} {
			s, g := serve(t, "127.0.0.1", metric.Rules{})
			if header == "" {
				udp(t, s).Write(datagram(1, 1470))
			} else {
				c := ask(t, s.Addr(), header)
				go io.Copy(io.Discard, c)
			}
			await(t, "guest", func() bool { return len(s.house.Guests()) == 1 })
			end(s)
			await(t, "end of the guest", func() bool { return len(g.left()) == 1 })
			if g.left()[0].Reason == "" {
				t.Errorf("%s of %.8s: no reason", name, header)
			}
		}
	}
}

// A UDP client that is sent away does not hear of it; what it goes on to send is no new stream.
func TestServerShunsWhoWasSentAway(t *testing.T) {
	s, g := serve(t, "127.0.0.1", metric.Rules{})
	away := udp(t, s)
	away.Write(datagram(1, 1000))
	await(t, "guest", func() bool { return len(s.house.Guests()) == 1 })
	s.house.Kick(1, "enough")
	await(t, "end of the guest", func() bool { return len(g.left()) == 1 })
	for id := range int64(20) {
		away.Write(datagram(2+id, 1000))
	}
	other := udp(t, s) // whose datagrams come after
	other.Write(datagram(1, 1000))
	await(t, "another guest", func() bool { return len(s.house.Guests()) == 1 })
	if got := s.house.Guests()[0]; got.ID != 2 || got.Peer != other.LocalAddr().String() {
		t.Errorf("%+v came in", got)
	}
}

func TestServerIsFull(t *testing.T) {
	s, _ := serve(t, "127.0.0.1", metric.Rules{Sessions: 1})
	ask(t, s.Addr(), tcpPlain)
	await(t, "guest", func() bool { return len(s.house.Guests()) == 1 })
	c := ask(t, s.Addr(), tcpPlain)
	c.SetReadDeadline(time.Now().Add(patience))
	if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, unix.ETIMEDOUT) {
		t.Errorf("the second hears %v", err)
	}
	if n := len(s.house.Guests()); n != 1 {
		t.Errorf("%d guests", n)
	}
}

// udp is a socket towards s.
func udp(t testing.TB, s *Server) *net.UDPConn {
	t.Helper()
	c, err := net.Dial("udp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.UDPConn)
}

// datagram is one of a 2.0.13 client.
func datagram(id int64, n int) []byte {
	b := make([]byte, max(n, dataSize))
	newWire(0, true).Put(b, &flow.Head{})
	putHead(b, id, flow.Wall())
	return b[:n]
}

func TestServerCountsWhatIsLost(t *testing.T) {
	s, g := serve(t, "127.0.0.1", metric.Rules{})
	c := udp(t, s)
	for id := range int64(100) {
		if id != 7 && id < 98 { // 98 and 99 are lost at the tail
			c.Write(datagram(id, 500))
		}
	}
	b := make([]byte, 2000)
	for again := range int64(3) {
		c.Write(datagram(-100-again, 500))
		c.SetReadDeadline(time.Now().Add(patience))
		n, err := c.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		r, ok := parseReport(b[:n])
		if !ok || r.lost != 3 || r.datagrams != 101 || r.bytes != 97*500 {
			t.Errorf("%v %+v", ok, r)
		}
	}
	await(t, "end of the guest", func() bool { return len(g.left()) == 1 })
	if m := g.left()[0]; m.Reason != "" || m.Lost.Or(-1) != 3 || m.Packets.Or(-1) != 100 || m.RxBytes != 97*500 {
		t.Errorf("%+v", m)
	}
}

func TestServerReportsAsOldClientsReadIt(t *testing.T) {
	s, _ := serve(t, "127.0.0.1", metric.Rules{})
	c := udp(t, s)
	old := func(id int64) []byte { // of 2.0.5, whose numbers have 32 bits
		b := make([]byte, 1470)
		putHead(b, id, flow.Wall())
		copy(b[12:], make([]byte, 4))
		return b
	}
	for id := range int64(20) {
		c.Write(old(id))
	}
	c.Write(old(-20))
	c.SetReadDeadline(time.Now().Add(patience))
	b := make([]byte, 2000)
	n, err := c.Read(b)
	if err != nil || n != reportSize || string(b[12:16]) != "\x80\x00\x00\x00" {
		t.Fatalf("%v, %d bytes: % x", err, n, b[:32])
	}
	if r, ok := parseReport(b[:n]); !ok || !r.old || r.lost != 0 || r.datagrams != 21 {
		t.Errorf("%v %+v", ok, r)
	}
}

func TestServerIsNoAmplifier(t *testing.T) {
	s, g := serve(t, "127.0.0.1", metric.Rules{})
	c := udp(t, s)
	quiet := func(what string) {
		t.Helper()
		c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
		if n, err := c.Read(make([]byte, 2000)); err == nil {
			t.Errorf("%s: an answer of %d bytes", what, n)
		}
	}
	c.Write(append(datagram(1, 16), unhex(t, seenUDPReverse)...))
	await(t, "guest", func() bool { return len(s.house.Guests()) == 1 })
	quiet("-R")
	// The end of it is answered with no more than came: 76 bytes are less than a report.
	c.Write(datagram(-2, 20))
	quiet("report")
	await(t, "end of the guest", func() bool { return len(g.left()) == 1 })
	if r := g.left()[0].Reason; r != noReverse {
		t.Errorf("it left because %q", r)
	}
	// What never began is not ended.
	c.Write(datagram(-5, 1470))
	quiet("the last datagram of nothing")
}

func TestBadPeers(t *testing.T) {
	s, g := serve(t, "127.0.0.1", metric.Rules{})
	r := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	silent, err := net.Dial("tcp", s.Addr()) // all the while
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	u := udp(t, s)
	for i := range 300 {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		switch i % 4 {
		case 0:
			c.Write(noise(2000))
		case 1:
			c.Write(unhex(t, tcpReverse)[:i%60])
		case 2:
			c.(*net.TCPConn).SetLinger(0)
		}
		c.Close()
		u.Write(noise(i * 5 % 1400))
	}
	for i := range 2 * dialect.MaxGreeting { // who never says what it wants
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if i%2 == 0 {
			c.Write([]byte{0x44})
		}
	}
	await(t, "end of the noise", func() bool {
		for _, m := range s.house.Guests() {
			if m.Proto == metric.TCP {
				return false
			}
		}
		return true
	})
	before := len(g.left())
	// Those who are silent are let go of in time; a datagram has no need to wait for that.
	good := udp(t, s)
	for id := range int64(50) {
		good.Write(datagram(id+1, 1000))
	}
	good.Write(datagram(-51, 1000))
	b := make([]byte, 2000)
	good.SetReadDeadline(time.Now().Add(patience))
	n, err := good.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	if r, ok := parseReport(b[:n]); !ok || r.lost != 0 || r.datagrams != 51 {
		t.Errorf("%v %+v", ok, r)
	}
	await(t, "good guest over TCP", func() bool {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			return false
		}
		defer c.Close()
		c.Write(make([]byte, 1000))
		for _, m := range g.left()[before:] {
			if m.RxBytes == 1000 {
				return true
			}
		}
		return false
	})
}

func TestPortIsTaken(t *testing.T) {
	s, _ := serve(t, "127.0.0.1", metric.Rules{})
	if _, err := Listen(s.Addr(), &dialect.House{}); !errors.Is(err, unix.EADDRINUSE) || !strings.Contains(err.Error(), s.Addr()) {
		t.Errorf("%v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestDestination(t *testing.T) {
	s, _ := serve(t, "", metric.Rules{})
	port := netip.MustParseAddrPort(s.Addr()).Port()
	for _, host := range []string{"127.0.0.1", "127.0.0.2", "::1"} {
		c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(host), port)))
		if err != nil {
			need(t, false, "no address "+host)
		}
		c.Write(datagram(0, 1000))
		c.Write(datagram(-1, 1000))
		c.SetReadDeadline(time.Now().Add(patience))
		if _, err := c.Read(make([]byte, 2000)); err != nil { // the socket takes it from the address it dialled alone
			t.Errorf("%s: %v", host, err)
		}
		c.Close()
	}
}

// nobodys is a stream that only counts what comes to the server's own socket.
func nobodys() *udpGuest { return &udpGuest{wire: newWire(1, true), early: &early{}} }

// Streams that are shunned have a socket each, so there is an end to them.
func TestServerBoundsItsPeers(t *testing.T) {
	s, _ := serve(t, "127.0.0.1", metric.Rules{})
	first, last := udp(t, s), udp(t, s)
	seen := nobodys()
	s.mu.Lock()
	s.peers[last.LocalAddr().(*net.UDPAddr).AddrPort()] = seen
	for i := uint16(1); len(s.peers) < maxPeers; i++ {
		s.peers[netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), i)] = nobodys()
	}
	s.mu.Unlock()
	first.Write(datagram(1, 1000))
	last.Write(datagram(1, 1000)) // comes after
	await(t, "datagram", func() bool { return seen.early.datagrams.Load() == 1 })
	if n := len(s.house.Guests()); n != 0 {
		t.Errorf("%d guests beyond the bound", n)
	}
}

// A socket connected with port 0 would take the datagrams of every port of that host.
func TestServerTakesNobodyOfPortZero(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
	need(t, err == nil, "no raw socket: not root")
	defer unix.Close(fd)
	s, _ := serve(t, "127.0.0.1", metric.Rules{})
	last := udp(t, s)
	seen := nobodys()
	s.mu.Lock()
	s.peers[last.LocalAddr().(*net.UDPAddr).AddrPort()] = seen
	s.mu.Unlock()
	body := datagram(1, 1000)
	b := []byte{0, 0} // from port 0
	b = binary.BigEndian.AppendUint16(b, uint16(s.udp.LocalAddr().(*net.UDPAddr).Port))
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(body)))
	b = append(append(b, 0, 0), body...) // without a checksum
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	last.Write(datagram(1, 1000))
	await(t, "datagram", func() bool { return seen.early.datagrams.Load() == 1 })
	if n := len(s.house.Guests()); n != 0 {
		t.Errorf("%d guests from port 0", n)
	}
}

func TestResolveKeepsTheZone(t *testing.T) {
	got, err := resolve(t.Context(), "[fe80::1%lo]:5001", netip.Addr{})
	if err != nil || len(got) != 1 || got[0] != netip.MustParseAddrPort("[fe80::1%lo]:5001") {
		t.Errorf("%v %v", got, err)
	}
}
