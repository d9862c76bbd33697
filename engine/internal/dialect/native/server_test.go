package native

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/metric"
)

// patience is how long a test waits for what a busy machine may make late and only a fault keeps away.
const patience = time.Minute

func serve(t testing.TB) *Server {
	t.Helper()
	s, err := Listen("127.0.0.1:0", &dialect.House{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func client(t testing.TB, s *Server) *Client {
	t.Helper()
	c, err := Dial(context.Background(), s.Addr(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// What does not begin as ours is closed at once, without an answer.
func TestStrangers(t *testing.T) {
	s := serve(t)
	for name, first := range map[string]string{
		"http":          "GET / HTTP/1.1\r\nHost: here\r\n\r\n",
		"iperf3":        "abcdefghijklmnopqrstuvwxyz0123456789x",
		"wrong token":   string(preamble{token: token{9}, id: 1}.bytes()),
		"no json":       "{hello}\n",
		"endless line":  "{" + strings.Repeat("x", maxLine+1),
		"no hello":      `{"type":"open"}` + "\n",
		"other dialect": `{"type":"hello","dialect":"iperf9","v":1}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", s.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(patience))
			if _, err := c.Write([]byte(first)); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(c)
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				t.Error("it hangs")
			}
			if len(got) > 0 && !strings.HasPrefix(string(got), `{"type":"hello"`) {
				t.Errorf("it answers %q", got)
			}
		})
	}
}

// A peer of another version is told in one line which is which, at whichever end it is.
func TestVersionMismatch(t *testing.T) {
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
		bufio.NewReader(c).ReadString('\n')
		fmt.Fprintf(c, `{"type":"hello","dialect":%q,"v":%d}`+"\n", dialectName, Version+1)
	}()
	_, err = Dial(context.Background(), l.Addr().String(), Options{})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("version %d", Version+1)) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}

// Nothing is sent to an address that a datagram without the token claims to come from, nor to one with it.
func TestNoAnswerToDatagrams(t *testing.T) {
	s := serve(t)
	c := client(t, s)
	u, err := net.Dial("udp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	for _, d := range [][]byte{{}, []byte("hello"), preamble{token: token{1}, id: 1}.bytes(), preamble{token: c.token, id: 99}.bytes()} {
		if _, err := u.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	// A request that is answered afterwards shows that the server is past them.
	if err := c.Aim(context.Background(), 0, metric.Calls{}, metric.Calls{}); err != nil {
		t.Fatal(err)
	}
	u.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if n, err := u.Read(make([]byte, 100)); err == nil {
		t.Errorf("%d bytes came back", n)
	}
}

func TestRequestsAreChecked(t *testing.T) {
	c := client(t, serve(t))
	ctx := context.Background()
	for name, l := range map[string]*line{
		"no stream":   {Type: typeOpen},
		"bad proto":   {Type: typeOpen, Stream: &StreamSpec{ID: 1, Proto: "sctp", Dir: metric.Out}},
		"bad dir":     {Type: typeOpen, Stream: &StreamSpec{ID: 1, Proto: metric.TCP, Dir: "up"}},
		"huge":        {Type: typeOpen, Stream: &StreamSpec{ID: 1, Proto: metric.UDP, Dir: metric.In, Size: 1 << 30}},
		"not opened":  {Type: typeJoin, ID: 77},
		"bad rate":    {Type: typeAim, Rate: -1},
		"huge buffer": {Type: typeOpen, Stream: &StreamSpec{ID: 1, Proto: metric.TCP, Dir: metric.In, Far: metric.Socket{RcvBuf: 1 << 30}}},
	} {
		if _, err := c.ask(ctx, l); err == nil {
			t.Errorf("%s passes", name)
		}
	}
	for id := range uint32(maxStreams + 1) {
		_, err := c.ask(ctx, &line{Type: typeOpen, Stream: &StreamSpec{ID: id + 1, Proto: metric.TCP, Dir: metric.In}})
		if (err != nil) != (id == maxStreams) {
			t.Fatalf("stream %d: %v", id, err)
		}
	}
}

// A stream that the near end gives up while it is being opened leaves nothing at the far end.
func TestGivenUpStreamIsTakenBack(t *testing.T) {
	s := serve(t)
	c := client(t, s)
	ss := s.session(c.token)
	left := func() int {
		ss.mu.Lock()
		defer ss.mu.Unlock()
		return len(ss.expects) + len(ss.open) + len(ss.probes)
	}
	// It was opened and has not joined.
	spec := &StreamSpec{ID: c.newID(), Proto: metric.TCP, Dir: metric.In}
	if _, err := c.ask(t.Context(), &line{Type: typeOpen, Stream: spec}); err != nil || left() != 1 {
		t.Fatalf("%d expected: %v", left(), err)
	}
	joined := make(chan error, 1)
	go func() {
		_, err := c.ask(t.Context(), &line{Type: typeJoin, ID: spec.ID})
		joined <- err
	}()
	for ss.waiting.Load() == 0 {
		runtime.Gosched()
	}
	if err := c.CloseStreams(t.Context(), spec.ID); err != nil || left() != 0 {
		t.Errorf("%d are left: %v", left(), err)
	}
	if err := <-joined; err == nil {
		t.Error("it joins all the same")
	}
	// It is there at the far end, and the near one fails.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, proto := range []metric.Proto{metric.TCP, metric.UDP} {
		if _, err := c.Open(gone, Want{Proto: proto, Dir: metric.In}); err == nil {
			t.Errorf("%s opens for nobody", proto)
		}
	}
	if _, _, err := c.OpenProbe(gone, 100); err == nil || left() != 0 {
		t.Errorf("%d are left: %v", left(), err)
	}
}

// The session ends with its control connection, and takes its streams along.
func TestSessionEndsWithControl(t *testing.T) {
	s := serve(t)
	c := client(t, s)
	ctx := context.Background()
	if _, err := c.Open(ctx, Want{Proto: metric.UDP, Dir: metric.In, Rate: 1e6}); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(patience); time.Now().Before(late); <-tick.C {
		s.mu.Lock()
		n := len(s.sessions)
		s.mu.Unlock()
		if n == 0 {
			return
		}
	}
	t.Error("the session stays")
}

// A near end that closes is not one that fails, whatever was on its way to it.
func TestClosedSessionHasNoReason(t *testing.T) {
	left := make(chan metric.Guest, 1)
	s, err := Listen("127.0.0.1:0", &dialect.House{Told: func(g metric.Guest) {
		if g.Event == "out" {
			left <- g
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 100 {
		c := client(t, s)
		for range 50 { // answers that nobody has read yet
			if err := c.ctl.send(&line{Type: typeAim, N: 1 << 20}); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if g := <-left; g.Reason != "" {
			t.Fatalf("it left because: %s", g.Reason)
		}
	}
}

func TestClientOfAPeerThatStops(t *testing.T) {
	s := serve(t)
	c := client(t, s)
	s.Close()
	<-c.Done()
	if c.Err() == nil {
		t.Error("no reason")
	}
	if _, err := c.Open(context.Background(), Want{Proto: metric.TCP, Dir: metric.Out}); err == nil {
		t.Error("it opens streams")
	}
}

func TestLocalIsWhatTheNearEndDialled(t *testing.T) {
	s := serve(t)
	c := client(t, s)
	if c.peer != netip.MustParseAddrPort(s.Addr()) {
		t.Errorf("%v, served is %v", c.peer, s.Addr())
	}
}

// A server that listens anew keeps its port and its sessions, and a second server is still told that the port is taken.
func TestRenew(t *testing.T) {
	s, err := Listen("127.0.0.1:0", &dialect.House{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := Dial(t.Context(), s.Addr(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 3 {
		if err := c.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Open(t.Context(), Want{Proto: metric.TCP, Dir: metric.Out}); err != nil {
			t.Errorf("a stream after renewal: %v", err)
		}
	}
	if other, err := Listen(s.Addr(), &dialect.House{}); err == nil {
		other.Close()
		t.Error("two servers have one port")
	}
}
