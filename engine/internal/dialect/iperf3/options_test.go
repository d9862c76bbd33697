package iperf3

import (
	"context"
	"strings"
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
)

// Every option of a stock client that reaches the server ends in a test that both sides call good, all of them on one server.
func TestServerTakesOptions(t *testing.T) {
	stock(t)
	s, g := serve(t, "127.0.0.1", metric.Rules{})
	options := []string{
		"-n 10M", "-R -n 10M", "-k 100", "-R -k 100", "--bidir -n 10M", "-u -b 50M -n 1M", "-u -b 50M -R -n 1M",
		"-n 10M -w 64K", "-t 1 -R -w 64K -b 20M", "-n 10M -C cubic", "-n 10M -M 1000", "-R -n 10M -M 1000", "-n 10M -N",
		"-n 10M -R -S 32", "-n 10M -Z", "-n 10M -l 1M", "-n 10M -R -l 1M", "-n 1M -l 100", "-t 1 -R --fq-rate 100M",
		"-u -b 0 -R -n 10M", "-u -b 0 -n 10M", "-t 1 -u -b 10M/10 -R", "-n 1M -u -b 50M --get-server-output",
		"-t 1 -u -l 16 -b 100K", "-n 20M -P 20", "-t 1 -R -P 20 -b 1M", "-t 1 -O 1 -b 50M", "-t 1 -O 1 -R -b 50M",
		"-t 1 -O 1 -u -b 4M", "-t 1 -O 1 -u -R -b 4M", "-t 1 --bidir -P 2 -b 50M", "-n 1M -T title --extra-data x",
		"-n 1M -u --udp-counters-64bit -b 50M", "-n 1M --repeating-payload", "-n 100K -u --dont-fragment -b 4M -l 1400",
	}
	atOnce(t, 4, options, func(s string) string { return s }, func(t *testing.T, args string) {
		r, err := runStock(context.Background(), t, s.Addr(), strings.Fields(args)...)
		if err != nil {
			t.Fatal(err)
		}
		e := r.End
		bytes, bps := e.SumReceived.Bytes, e.SumReceived.BPS
		if strings.Contains(args, "-u") {
			bytes, bps = e.Sum.Bytes, e.Sum.BPS
		}
		if bytes <= 0 || bps <= 0 {
			t.Errorf("nothing flowed: %+v", e)
		}
		if strings.Contains(args, "-O 1") && (bps < 1e6 || bps > 90e6) { // 4M and 50M for a second
			t.Errorf("%.0f bit/s behind the omitted second", bps)
		}
	})
	eventually(t, "all leave", func() bool { return len(g.gone()) == len(options) })
	for _, m := range g.gone() {
		if m.Reason != "" {
			t.Errorf("%+v", m)
		}
	}
}
