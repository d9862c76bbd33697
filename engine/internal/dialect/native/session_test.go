package native

import (
	"bufio"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/metric"
)

// A near end that does not read holds up neither who ends its session nor, for long, its end.
func TestKickOfOneThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		s := newSession(newControl(ours, ours, silence), 0)
		ended := make(chan string)
		go func() { ended <- s.serve() }()
		if _, err := bufio.NewReaderSize(theirs, maxLine).ReadSlice('\n'); err != nil {
			t.Fatal(err)
		}
		from := time.Now()
		s.kick("closing time")
		s.kick("and once more")
		if d := time.Since(from); d != 0 {
			t.Errorf("kick waited for %v", d)
		}
		if reason := <-ended; reason != "closing time" {
			t.Errorf("it ended because: %s", reason)
		}
		if d := time.Since(from); d > writeTimeout {
			t.Errorf("it ended after %v", d)
		}
	})
}

func TestStoppedServerSaysSo(t *testing.T) {
	left := make(chan metric.Guest, 1)
	s, err := Listen("127.0.0.1:0", &dialect.House{Told: func(g metric.Guest) {
		if g.Event == "out" {
			left <- g
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if g := <-left; g.Reason != "the server was stopped" {
		t.Errorf("the guest left because: %s", g.Reason)
	}
	<-c.Done()
}

// Every socket of a bound client has its address, the streams' and the probe's too.
func TestClientIsBound(t *testing.T) {
	s := serve(t)
	c, err := Dial(t.Context(), s.Addr(), Options{Bind: netip.MustParseAddr("127.0.0.9")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, proto := range []metric.Proto{metric.TCP, metric.UDP, protoProbe} {
		fd, err := c.socket(proto, metric.Socket{})
		if err != nil {
			t.Fatal(err)
		}
		sa, err := unix.Getsockname(fd)
		_ = unix.Close(fd)
		if a, ok := sa.(*unix.SockaddrInet4); err != nil || !ok || a.Addr != [4]byte{127, 0, 0, 9} {
			t.Errorf("%s: %+v %v", proto, sa, err)
		}
	}
}

// Who has a session cannot have the far end send to a stranger by a datagram that claims to come from there.
func TestNothingIsSentToStrangers(t *testing.T) {
	s := serve(t)
	c := client(t, s)
	const id = 77
	spec := &StreamSpec{ID: id, Proto: metric.UDP, Dir: metric.In, Size: 100, Rate: 1_000_000}
	if _, err := c.ask(t.Context(), &line{Type: typeOpen, Stream: spec}); err != nil {
		t.Fatal(err)
	}
	var own net.Conn
	for _, from := range []string{"127.0.0.9:0", "127.0.0.1:0"} {
		d := net.Dialer{LocalAddr: net.UDPAddrFromAddrPort(netip.MustParseAddrPort(from))}
		u, err := d.Dial("udp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer u.Close()
		if _, err := u.Write(preamble{token: c.token, id: id}.bytes()); err != nil {
			t.Fatal(err)
		}
		own = u
	}
	for _, l := range []*line{{Type: typeJoin, ID: id}, {Type: typeStart}} {
		if _, err := c.ask(t.Context(), l); err != nil {
			t.Fatal(err)
		}
	}
	own.SetReadDeadline(time.Now().Add(patience))
	if _, err := own.Read(make([]byte, 2000)); err != nil {
		t.Errorf("the near end hears nothing: %v", err)
	}
}

// What a far end says is shown on a terminal.
func TestFarWordsArePlain(t *testing.T) {
	l, err := decode([]byte(`{"type":"stats","error":"\u001b[2Jno","stats":{"broken":"a\nb"},` +
		`"grant":{"socket":{"congestion":"\u001b"}},"grants":{"7":{"congestion":"\u0007"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if l.Error != "?[2Jno" || l.Stats.Broken != "a?b" || l.Grant.Socket.Congestion != "?" || l.Grants[7].Congestion != "?" {
		t.Errorf("%+v", l)
	}
}
