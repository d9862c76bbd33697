package native

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/metric"
)

func guarded(t *testing.T, r metric.Rules) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0", &dialect.House{Rules: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestKey(t *testing.T) {
	const key = "correct horse"
	closed, open := guarded(t, metric.Rules{Key: []byte(key)}), guarded(t, metric.Rules{})
	for name, c := range map[string]struct {
		s    *Server
		key  string
		says string // empty = welcome
	}{
		"right":             {closed, key, ""},
		"wrong":             {closed, "battery staple", "the key is not the server's"},
		"none":              {closed, "", "--key-file"},
		"to an open server": {open, key, "did not prove"},
		"open, without":     {open, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cl, err := Dial(t.Context(), c.s.Addr(), Options{Key: []byte(c.key)})
			if err == nil {
				defer cl.Close()
			}
			switch {
			case c.says == "" && err != nil:
				t.Error(err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// A server that does not have the key cannot send the client's own proof back.
func TestServerProvesItself(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		ctl := newControl(c, c, patience)
		hello, _ := ctl.receive()
		_ = ctl.send(&line{Type: typeAsk, Nonce: hello.Nonce})
		proved, _ := ctl.receive()
		_ = ctl.send(&line{Type: typeHello, Proto: dialectName, V: Version, Token: strings.Repeat("00", tokenSize), Proof: proved.Proof})
	}()
	if c, err := Dial(t.Context(), l.Addr().String(), Options{Key: []byte("correct horse")}); !errors.Is(err, errKey) {
		if err == nil {
			c.Close()
		}
		t.Errorf("a server without the key: %v", err)
	}
}

func TestWhoMakesNoGuest(t *testing.T) {
	house := &dialect.House{Told: func(g metric.Guest) { t.Errorf("guest %+v", g) }}
	s, err := Listen("127.0.0.1:0", house)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(Who()) < 37 { // an iperf3 cookie
		t.Errorf("%d bytes", len(Who()))
	}
	if _, err := c.Write(Who()); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(patience))
	got, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(got), `{"type":"hello"`) || strings.Contains(string(got), "token") {
		t.Errorf("%q %v", got, err)
	}
}

func TestRules(t *testing.T) {
	s := guarded(t, metric.Rules{RateBps: 1e6, Once: true})
	c, err := Dial(t.Context(), s.Addr(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := Want{Proto: metric.TCP, Dir: metric.In}
	if _, err := c.Open(t.Context(), w); err == nil || !strings.Contains(err.Error(), "faster than 1000000 bit/s") {
		t.Errorf("a stream without a rate: %v", err)
	}
	w.Rate = 1e6
	if _, err := c.Open(t.Context(), w); err != nil {
		t.Error(err)
	}
	if err := c.Aim(t.Context(), 2e6, metric.Calls{}, metric.Calls{}); err == nil {
		t.Error("twice the rate was taken")
	}
	if other, err := Dial(t.Context(), s.Addr(), Options{}); err == nil || !strings.Contains(err.Error(), "busy") {
		if err == nil {
			other.Close()
		}
		t.Errorf("a second of one session: %v", err)
	}
}

func TestKickedClientKnowsWhy(t *testing.T) {
	house := &dialect.House{}
	s, err := Listen("127.0.0.1:0", house)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := Dial(context.Background(), s.Addr(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !house.Kick(1, "closing time") {
		t.Fatal("no guest 1")
	}
	<-c.Done()
	if err := c.Err(); !errors.Is(err, dialect.ErrDismissed) || !strings.Contains(err.Error(), "closing time") {
		t.Error(err)
	}
}
