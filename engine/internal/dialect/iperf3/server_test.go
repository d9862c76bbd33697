package iperf3

import (
	"context"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/metric"
)

// guests remembers how sessions ended.
type guests struct {
	mu  sync.Mutex
	out []metric.Guest
}

func (g *guests) told(m metric.Guest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if m.Event == "out" {
		g.out = append(g.out, m)
	}
}

func (g *guests) gone() []metric.Guest {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]metric.Guest(nil), g.out...)
}

// serve runs a Server on a loopback address until the test ends.
func serve(t testing.TB, ip string, rules metric.Rules) (*Server, *guests) {
	t.Helper()
	g := &guests{}
	s, err := Listen(net.JoinHostPort(ip, "0"), &dialect.House{Rules: rules, Told: g.told})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, g
}

// alike fails where a and b differ by more than a hundredth, or are not there.
func alike(t *testing.T, what string, a, b float64) {
	t.Helper()
	if a <= 0 || b <= 0 || math.Abs(a-b) > 0.01*math.Max(a, b) {
		t.Errorf("%s: %.0f and %.0f", what, a, b)
	}
}

// arrived fails where more came than was sent, but for a hundredth that is not acknowledged yet, or less than half. What the
// client has not read when its test ends it does not count, and on a busy machine that is more than a moment's.
func arrived(t *testing.T, what string, sent, came float64) {
	t.Helper()
	if came <= 0 || came > 1.01*sent || came < sent/2 {
		t.Errorf("%s: sent %.0f, arrived %.0f", what, sent, came)
	}
}

func TestServerMatrix(t *testing.T) {
	stock(t)
	atOnce(t, 4, matrix(), cell.String, func(t *testing.T, x cell) {
		s, g := serve(t, x.ip, metric.Rules{})
		args := []string{"-t", "1", "-P", strconv.Itoa(x.n), "-b", "500M", "-w", "64K"} // what is on its way at the end was sent and not received
		if x.proto == metric.UDP {
			args = []string{"-t", "1", "-P", strconv.Itoa(x.n), "-u", "-b", "4M", "-l", "1400"}
		}
		switch x.mode {
		case metric.ModeIn:
			args = append(args, "-R")
		case metric.ModeBoth:
			args = append(args, "--bidir")
		}
		r, err := runStock(context.Background(), t, s.Addr(), args...)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the guest leaves", func() bool { return len(g.gone()) == 1 })
		m := g.gone()[0]
		if m.Reason != "" || m.Mode != x.mode || m.Proto != x.proto || m.Streams != x.n {
			t.Errorf("%+v", m)
		}
		checkEnd(t, r, m, x)
	})
}

// checkEnd compares what the client printed with what the server measured.
func checkEnd(t *testing.T, r *report, m metric.Guest, x cell) {
	t.Helper()
	e := r.End
	if x.proto == metric.TCP {
		arrived(t, "the client's two sums", e.SumSent.Bytes, e.SumReceived.Bytes)
		if x.mode == metric.ModeIn {
			alike(t, "sent by the server", e.SumSent.Bytes, float64(m.TxBytes))
		} else {
			alike(t, "received by the server", e.SumReceived.Bytes, float64(m.RxBytes))
		}
		if x.mode == metric.ModeBoth {
			arrived(t, "the client's two sums back", e.SumSentBack.Bytes, e.SumReceivedBack.Bytes)
			alike(t, "sent by the server", e.SumSentBack.Bytes, float64(m.TxBytes))
		}
		return
	}
	if e.Sum.Packets < 100 {
		t.Errorf("%+v: too few datagrams", e.Sum)
	}
	if e.Sum.JitterMs < 0 || e.Sum.JitterMs > 100 {
		t.Errorf("a jitter of %v ms", e.Sum.JitterMs)
	}
	if x.mode == metric.ModeOut && e.Sum.Lost != m.Lost.Or(-1) {
		t.Errorf("lost: the client says %v, the server %v", e.Sum.Lost, m.Lost)
	}
	if x.mode == metric.ModeOut && e.Sum.Lost == 0 {
		alike(t, "bytes", e.Sum.Bytes, float64(m.RxBytes))
	}
	if x.mode == metric.ModeIn && e.Sum.Lost == 0 {
		arrived(t, "bytes", float64(m.TxBytes), e.Sum.Bytes)
	}
}

func TestServerMany(t *testing.T) {
	stock(t)
	s, g := serve(t, "127.0.0.1", metric.Rules{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			size := 1000 + 10*i // of a datagram, so that streams that are given to the wrong client show
			args := []string{"-t", "1", "-P", "2", "-b", "4M", "-u", "-l", strconv.Itoa(size)}
			if i%2 == 1 {
				args = append(args, "-R")
			}
			r, err := runStock(context.Background(), t, s.Addr(), args...)
			if err != nil {
				t.Errorf("client %d: %v", i, err)
				return
			}
			if e := r.End.Sum; e.Packets < 100 || e.Bytes != float64(size)*e.Packets && e.Bytes != float64(size)*(e.Packets-e.Lost) {
				t.Errorf("client %d of %d bytes a datagram: %+v", i, size, e)
			}
		})
	}
	wg.Wait()
	eventually(t, "all leave", func() bool { return len(g.gone()) == 8 })
	sizes := make(map[float64]bool)
	for _, m := range g.gone() {
		if m.Reason != "" {
			t.Errorf("%s left because of %q", m.Peer, m.Reason)
		}
		if m.Mode == metric.ModeOut {
			sizes[float64(m.RxBytes)/(m.Packets.Or(0)-m.Lost.Or(0))] = true
		}
	}
	for i := 0; i < 8; i += 2 {
		if !sizes[float64(1000+10*i)] {
			t.Errorf("no session received all of client %d: %v", i, sizes)
		}
	}
}

// A server of every address answers UDP from the one that the client dialled.
func TestServerOfEveryAddress(t *testing.T) {
	t.Parallel()
	stock(t)
	s, _ := serve(t, "", metric.Rules{})
	_, port, err := net.SplitHostPort(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	for _, ip := range []string{"127.0.0.1", "127.0.0.5", "::1"} {
		for _, args := range []string{"-u -n 100K -b 10M -P 2", "-u -R -n 100K -b 10M", "-n 1M"} {
			r, err := runStock(context.Background(), t, net.JoinHostPort(ip, port), strings.Fields(args)...)
			if err != nil || r.End.SumReceived.Bytes <= 0 && r.End.Sum.Bytes <= 0 {
				t.Errorf("%s %s: %v", ip, args, err)
			}
		}
	}
}

func TestServerOutput(t *testing.T) {
	stock(t)
	s, _ := serve(t, "127.0.0.1", metric.Rules{})
	r, err := runStock(context.Background(), t, s.Addr(), "-t", "1", "--get-server-output", "-b", "10M")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.ServerOutputText, "received") {
		t.Errorf("%q", r.ServerOutputText)
	}
}
