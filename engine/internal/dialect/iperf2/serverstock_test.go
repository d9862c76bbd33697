package iperf2

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/metric"
)

// guests keeps what a house tells of those who left.
type guests struct {
	mu   sync.Mutex
	gone []metric.Guest
}

func (g *guests) told(m metric.Guest) {
	if m.Event == "out" {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.gone = append(g.gone, m)
	}
}

func (g *guests) left() []metric.Guest {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]metric.Guest(nil), g.gone...)
}

func serve(t testing.TB, host string, rules metric.Rules) (*Server, *guests) {
	t.Helper()
	g := &guests{}
	s, err := Listen(net.JoinHostPort(host, "0"), &dialect.House{Rules: rules, Told: g.told})
	need(t, err == nil, "no address "+host)
	t.Cleanup(func() { s.Close() })
	return s, g
}

// stockClient runs `iperf -c` against addr to its end.
func stockClient(t testing.TB, addr string, args ...string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"-c", host, "-p", port, "-e", "-f", "k"}, args...)
	if strings.Contains(host, ":") {
		args = append(args, "-V")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, iperf(t), args...).CombinedOutput()
	if err != nil {
		t.Errorf("iperf %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func TestStockClientAgainstServer(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		for _, flags := range []string{"", "-R", "--full-duplex", "-u -b 20m"} {
			for _, streams := range []int{1, 2} {
				t.Run(fmt.Sprintf("%s/%s/P%d", host, flags, streams), func(t *testing.T) {
					t.Parallel()
					iperf(t)
					s, g := serve(t, host, metric.Rules{RateBps: 200_000_000})
					text := stockClient(t, s.Addr(), append(strings.Fields(flags), "-t", "1", "-P", strconv.Itoa(streams))...)
					await(t, "end of the guests", func() bool { return len(g.left()) == streams })
					var tx, rx, lost, packets float64
					for _, m := range g.left() {
						tx += float64(m.TxBytes)
						rx += float64(m.RxBytes)
						lost += m.Lost.Or(0)
						packets += m.Packets.Or(0)
						if m.Reason != "" {
							t.Errorf("it left because %s", m.Reason)
						}
					}
					out := &output{}
					out.Write([]byte(text))
					n, bytes, theirLost, theirDatagrams := printed(out)
					t.Logf("tx %.0f rx %.0f lost %.0f of %.0f; iperf prints %d lines, %.0f bytes, lost %.0f of %.0f", tx, rx, lost, packets,
						n, bytes, theirLost, theirDatagrams)
					switch {
					case flags == "--full-duplex":
						if n != 2*streams || !near(bytes, tx+rx, 0.01) {
							t.Errorf("it counts %.0f bytes both ways, we %.0f", bytes, tx+rx)
						}
					case strings.HasPrefix(flags, "-u"):
						// It prints what it sent and then our report, in which the last datagram of each counts.
						if n != 2*streams || theirLost != lost || theirDatagrams != packets+float64(streams) {
							t.Errorf("it prints %v of %v lost, we count %v of %v", theirLost, theirDatagrams, lost, packets)
						}
					case n != streams || !near(bytes, tx+rx, 0.01):
						t.Errorf("it counts %.0f bytes, we %.0f", bytes, tx+rx)
					}
					if t.Failed() {
						t.Log(text)
					}
				})
			}
		}
	}
}

func TestStockClientsAtOnce(t *testing.T) {
	iperf(t)
	s, g := serve(t, "127.0.0.1", metric.Rules{RateBps: 50_000_000})
	var wg sync.WaitGroup
	for i := range 8 {
		flags := []string{"-b 20m", "-R", "-u -b 5m", "-u -b 20m -l 400"}[i%4]
		wg.Go(func() { stockClient(t, s.Addr(), append(strings.Fields(flags), "-t", "1")...) })
	}
	wg.Wait()
	await(t, "end of the guests", func() bool { return len(g.left()) == 8 })
	for _, m := range g.left() {
		if m.Reason != "" || m.TxBytes+m.RxBytes < 100_000 {
			t.Errorf("%+v", m)
		}
	}
}
