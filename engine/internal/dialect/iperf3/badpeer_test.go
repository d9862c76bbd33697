package iperf3

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/metric"
)

// rawClient says what it likes to a server.
type rawClient struct {
	net.Conn
	t       testing.TB
	ck      cookie
	streams []net.Conn
}

// hangUp closes all that the client has.
func (r *rawClient) hangUp() {
	_ = r.Close()
	for _, c := range r.streams {
		_ = c.Close()
	}
}

// rough connects a rawClient and says its cookie.
func rough(t testing.TB, addr string) *rawClient {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	r := &rawClient{Conn: c, t: t, ck: newCookie()}
	_ = c.SetDeadline(time.Now().Add(late))
	r.say(string(r.ck[:]))
	return r
}

func (r *rawClient) say(s string) {
	r.t.Helper()
	if _, err := r.Write([]byte(s)); err != nil {
		r.t.Fatalf("say %q: %v", s, err)
	}
}

// hear fails unless the server says exactly this.
func (r *rawClient) hear(want string) {
	r.t.Helper()
	b := make([]byte, len(want))
	if n, err := io.ReadFull(r, b); err != nil || string(b) != want {
		r.t.Fatalf("heard %q %v, want %q", b[:n], err, want)
	}
}

// over fails unless the server ends the connection, whatever it says before.
func (r *rawClient) over() string {
	r.t.Helper()
	b, err := io.ReadAll(r)
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		r.t.Errorf("the server holds on; it said %q", b)
	}
	return string(b)
}

func framed(s string) string {
	return string(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) + s
}

// running brings the client to where traffic flows: one TCP stream.
func (r *rawClient) running(params string) net.Conn {
	r.t.Helper()
	r.hear("\x09")
	r.say(framed(params))
	r.hear("\x0a")
	d, err := net.Dial("tcp", r.RemoteAddr().String())
	if err != nil {
		r.t.Fatal(err)
	}
	r.streams = append(r.streams, d)
	if _, err := d.Write(r.ck[:]); err != nil {
		r.t.Fatal(err)
	}
	r.hear("\x01\x02")
	return d
}

const ownResults = `{"cpu_util_total":0,"cpu_util_user":0,"cpu_util_system":0,"sender_has_retransmits":0,` +
	`"streams":[{"id":1,"bytes":0,"retransmits":0,"jitter":0,"errors":0,"packets":0}]}`

// badPeers are what peers do. Each gets a server that it shares with all others and a good client.
var badPeers = map[string]func(r *rawClient){
	"leaves after the cookie": func(r *rawClient) { r.hear("\x09") },
	"leaves after half a frame": func(r *rawClient) {
		r.hear("\x09")
		r.say("\x00\x00\x00\x10{")
	},
	"leaves after the parameters": func(r *rawClient) {
		r.hear("\x09")
		r.say(framed(`{"tcp":true}`))
	},
	"leaves before its streams": func(r *rawClient) {
		r.hear("\x09")
		r.say(framed(`{"tcp":true}`))
		r.hear("\x0a")
	},
	"leaves before its UDP streams": func(r *rawClient) {
		r.hear("\x09")
		r.say(framed(`{"udp":true,"len":100}`))
		r.hear("\x0a")
	},
	"leaves while traffic flows":     func(r *rawClient) { r.running(`{"tcp":true}`) },
	"leaves while traffic flows, -R": func(r *rawClient) { r.running(`{"tcp":true,"reverse":true}`) },
	"loses a stream": func(r *rawClient) {
		_ = r.running(`{"tcp":true,"reverse":true}`).Close()
		r.say("\x04")
		r.hear("\x0d")
	},
	"leaves after the end": func(r *rawClient) {
		r.running(`{"tcp":true}`)
		r.say("\x04")
	},
	"leaves before the results": func(r *rawClient) {
		r.running(`{"tcp":true}`)
		r.say("\x04")
		r.hear("\x0d")
	},
	"leaves without goodbye": func(r *rawClient) {
		r.running(`{"tcp":true}`)
		r.say("\x04")
		r.hear("\x0d")
		r.say(framed(ownResults))
		var n [4]byte
		_, _ = io.ReadFull(r, n[:])
	},
	"gives up": func(r *rawClient) {
		r.running(`{"tcp":true}`)
		r.say("\x0c")
		r.over()
	},
	"says nonsense": func(r *rawClient) {
		r.running(`{"tcp":true}`)
		r.say("\x55")
		if said := r.over(); !strings.HasPrefix(said, "\xfe") {
			r.t.Errorf("nonsense is answered with %q", said)
		}
	},
	"announces a huge frame": func(r *rawClient) {
		r.hear("\x09")
		r.say("\x7f\xff\xff\xff")
		r.over()
	},
	"announces an empty frame": func(r *rawClient) {
		r.hear("\x09")
		r.say("\x00\x00\x00\x00")
		r.over()
	},
	"sends what is no JSON": func(r *rawClient) {
		r.hear("\x09")
		r.say(framed(strings.Repeat("[", maxParams)))
		r.hear("\xfe\x00\x00\x00\x72\x00\x00\x00\x00")
	},
	"asks for too much": func(r *rawClient) {
		r.hear("\x09")
		r.say(framed(`{"tcp":true,"parallel":100000}`))
		r.hear("\xfe\x00\x00\x00\x06\x00\x00\x00\x00")
	},
	"sends results without end": func(r *rawClient) {
		r.running(`{"tcp":true}`)
		r.say("\x04")
		r.hear("\x0d")
		_, _ = r.Write([]byte("\x00\xff\xff\xff"))
		for chunk := []byte(strings.Repeat(" ", 4096)); ; {
			if _, err := r.Write(chunk); err != nil {
				return
			}
		}
	},
	"sends results of other streams": func(r *rawClient) {
		r.running(`{"tcp":true}`)
		r.say("\x04")
		r.hear("\x0d")
		r.say(framed(strings.Replace(ownResults, `"id":1`, `"id":77`, 1)))
		var n [4]byte
		_, _ = io.ReadFull(r, n[:])
	},
	"sends a stream with another's cookie": func(r *rawClient) {
		r.hear("\x09")
		r.say(framed(`{"tcp":true}`))
		r.hear("\x0a")
		other := rough(r.t, r.RemoteAddr().String())
		defer other.hangUp()
		other.hear("\x09") // it is nobody's, so it is a new client
	},
	"opens more streams than it asked for": func(r *rawClient) {
		r.running(`{"tcp":true}`)
		more := &rawClient{t: r.t}
		more.Conn, _ = net.Dial("tcp", r.RemoteAddr().String())
		_ = more.SetDeadline(time.Now().Add(late))
		more.say(string(r.ck[:]))
		more.hear("\x09")
		_ = more.Close()
	},
	"sends garbage first": func(r *rawClient) {
		c, err := net.Dial("tcp", r.RemoteAddr().String())
		if err != nil {
			r.t.Fatal(err)
		}
		_, _ = c.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
		_ = c.Close()
	},
}

// undisturbed runs a good client beside what f does, and fails where the server does not get rid of all that f left.
func undisturbed(t *testing.T, f func(s *Server)) {
	t.Helper()
	goroutines, files := runtime.NumGoroutine(), descriptors()
	g := &guests{}
	s, err := Listen("127.0.0.1:0", &dialect.House{Told: g.told})
	if err != nil {
		t.Fatal(err)
	}
	good := dial(t, s.Addr(), Options{})
	drive(t, good, load(func(s *metric.Spec) { s.Mode, s.RateBps = metric.ModeBoth, 20e6 }))
	f(s)
	from := time.Now()
	flowFor(t, good, 2_000_000)              // 40 Mbit/s: 0.4 s
	if d := time.Since(from); d > greeting { // for which others may be waited for
		t.Errorf("the good client needs %v for 0.4 s of load", d)
	}
	if err := good.Close(); err != nil || good.Err() != nil {
		t.Errorf("the good client: %v, %v", err, good.Err())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if n := len(s.house.Guests()); n != 0 {
		t.Errorf("%d guests after the end", n)
	}
	eventually(t, "no goroutines are left", func() bool { return runtime.NumGoroutine() <= goroutines })
	eventually(t, "no descriptors are left", func() bool { return descriptors() <= files })
}

func descriptors() int {
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(d)
}

func TestBadPeers(t *testing.T) {
	for name, do := range badPeers {
		t.Run(name, func(t *testing.T) {
			undisturbed(t, func(s *Server) {
				r := rough(t, s.Addr())
				do(r)
				r.hangUp()
				// All that is left is the good client.
				eventually(t, "the bad one is out", func() bool { return len(s.house.Guests()) == 1 })
			})
		})
	}
}

// Connections that say nothing, and those that say a byte now and then, are thrown out; none of them holds up a client.
func TestSilentPeers(t *testing.T) {
	undisturbed(t, func(s *Server) {
		for range 50 {
			c, err := net.Dial("tcp", s.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
		}
		slow, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		waits := rough(t, s.Addr()) // says its cookie, and never its parameters
		defer waits.hangUp()
		from := time.Now()
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for range cookieSize { // which would take 7.4 s
			if _, err := slow.Write([]byte("x")); err != nil {
				break
			}
			<-tick.C
		}
		waits.over()
		if d := time.Since(from); d > 4*greeting {
			t.Errorf("they are thrown out after %v", d)
		}
	})
}

func TestFloodOfConnections(t *testing.T) {
	undisturbed(t, func(s *Server) {
		for range 2 * dialect.MaxGreeting {
			c, err := net.Dial("tcp", s.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
		}
		another := dial(t, s.Addr(), Options{})
		drive(t, another, metric.DefaultSpec())
		flowFor(t, another, 1<<20)
		_ = another.Close()
	})
}

// Strangers that send UDP get no answer, whatever they say, and no stream of another.
func TestStrayUDP(t *testing.T) {
	undisturbed(t, func(s *Server) {
		stray, err := net.Dial("udp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer stray.Close()
		for _, b := range []string{hello, "x", strings.Repeat("9876", 300), "\x15\xcd\x5b\x07"} {
			if _, err := stray.Write([]byte(b)); err != nil {
				t.Fatal(err)
			}
		}
		r := rough(t, s.Addr())
		defer r.hangUp()
		r.hear("\x09")
		// From here on a hello of its address is taken for its own.
		eventually(t, "what came before is read", func() bool { return unread(t, s) == 0 })
		r.say(framed(`{"udp":true,"len":100}`))
		r.hear("\x0a") // a stream is waited for, from 127.0.0.1
		from := net.UDPAddr{IP: net.IPv4(127, 0, 0, 9)}
		to, err := net.ResolveUDPAddr("udp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		other, err := net.DialUDP("udp", &from, to)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if _, err := other.Write([]byte(hello)); err != nil {
			t.Fatal(err)
		}
		good, err := net.DialUDP("udp", nil, to)
		if err != nil {
			t.Fatal(err)
		}
		defer good.Close()
		if _, err := good.Write([]byte(hello)); err != nil {
			t.Fatal(err)
		}
		r.hear("\x01\x02") // by now what the other said is read, which came before
		for _, c := range []net.Conn{stray, other} {
			_ = c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			if n, err := c.Read(make([]byte, 100)); err == nil {
				t.Errorf("a stranger is answered with %d bytes", n)
			}
		}
		answer := make([]byte, 100)
		_ = good.SetReadDeadline(time.Now().Add(late))
		if n, err := good.Read(answer); err != nil || string(answer[:n]) != reply {
			t.Errorf("the client is answered with %q, %v", answer[:n], err)
		}
	})
}

// unread is how long the next datagram is that the server has not read.
func unread(t *testing.T, s *Server) int {
	t.Helper()
	raw, err := s.udp.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n int
	var told error
	err = raw.Control(func(fd uintptr) { n, told = unix.IoctlGetInt(int(fd), unix.SIOCINQ) })
	if err := errors.Join(err, told); err != nil {
		t.Fatal(err)
	}
	return n
}

// A client that sends nothing for long is told so; until then it may be as quiet as it likes.
func TestQuiet(t *testing.T) {
	at := time.Unix(0, 0)
	q := quiet{since: at}
	for _, tc := range []struct {
		n    uint64
		at   time.Duration
		want time.Duration
	}{{0, time.Second, time.Second}, {5, 2 * time.Second, 0}, {5, noData, noData - 2*time.Second}, {6, noData + time.Second, 0}} {
		if got := q.still(tc.n, at.Add(tc.at)); got != tc.want {
			t.Errorf("%+v: %v", tc, got)
		}
	}
}
