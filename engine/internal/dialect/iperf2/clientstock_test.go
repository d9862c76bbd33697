package iperf2

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
)

// sumLine is what iperf prints of a stream: its bytes, and over UDP its loss.
var sumLine = regexp.MustCompile(`(?m)^\[ *\*?\d+\] 0\.00+-\d+\.\d+ sec +([\d.]+) KBytes +[\d.]+ Kbits/sec(?: +[\d.]+ ms +(\d+)/(\d+))?`)

// printed sums up the lines of the streams of so many: KBytes, lost, datagrams.
func printed(out *output) (n int, bytes, lost, datagrams float64) {
	for _, m := range sumLine.FindAllStringSubmatch(out.String(), -1) {
		n++
		v := func(i int) float64 { f, _ := strconv.ParseFloat(m[i], 64); return f }
		bytes += v(1) * 1024
		lost += v(2)
		datagrams += v(3)
	}
	return
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance*math.Max(a, b) }

func TestClientAgainstStockServer(t *testing.T) {
	for _, host := range []string{"127.0.0.1", "::1"} {
		for _, proto := range []metric.Proto{metric.TCP, metric.UDP} {
			for _, mode := range []metric.Mode{metric.ModeOut, metric.ModeIn, metric.ModeBoth} {
				for _, streams := range []int{1, 2} {
					if proto == metric.UDP && mode == metric.ModeBoth {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s/P%d", host, proto, mode, streams), func(t *testing.T) {
						var args []string
						if proto == metric.UDP {
							args = append(args, "-u", "-w", "1M")
						}
						addr, out := serveStock(t, host, args...)
						c, h := dial(t, addr, proto, Options{Segment: 300 * time.Millisecond})
						drive(t, c, mode, func(s *metric.Spec) { s.Streams = streams; s.RateBps = 20_000_000 })
						after(t, time.Second)
						if err := c.Err(); err != nil {
							t.Fatal(err)
						}
						c.Pause(t.Context())
						r := c.Read(nil)
						t.Logf("%+v notes %v", r, h.notes)
						if mode != metric.ModeIn && r.Tx.Bytes == 0 || mode != metric.ModeOut && r.Rx.Bytes == 0 {
							t.Errorf("nothing came: %+v", r)
						}
						if mode == metric.ModeOut && proto == metric.TCP {
							await(t, "report of the server", func() bool { n, _, _, _ := printed(out); return n == streams })
							if _, b, _, _ := printed(out); !near(b, float64(r.Tx.Bytes), 0.01) {
								t.Errorf("the server counts %.0f bytes, we %d", b, r.Tx.Bytes)
							}
						}
						if mode == metric.ModeOut && proto == metric.UDP {
							far := c.Far()
							segments := (len(far) - 1) * streams
							last := far[len(far)-1].Load.Rx
							await(t, "report of the server", func() bool { n, _, _, _ := printed(out); return n == segments })
							_, _, lost, datagrams := printed(out)
							if len(far) < 3 || float64(last.Lost()) != lost || float64(last.Expected) != datagrams-float64(segments) {
								t.Errorf("%d reports: %+v; the server prints %v of %v lost", len(far)-1, last, lost, datagrams)
							}
							if last.Expected != r.Tx.Packets {
								t.Errorf("%d were sent, the reports are of %d", r.Tx.Packets, last.Expected)
							}
						}
					})
				}
			}
		}
	}
}

// A stream that begins right after the last one has ended crashes iperf 2.1.8.
func TestStockServerSurvives(t *testing.T) {
	addr, out := serveStock(t, "127.0.0.1", "-u", "-w", "1M")
	c, h := dial(t, addr, metric.UDP, Options{Segment: minSegment})
	for i := range 4 {
		from := c.Read(nil)
		drive(t, c, []metric.Mode{metric.ModeOut, metric.ModeIn}[i/2], nil)
		await(t, "traffic", func() bool {
			r := c.Read(nil)
			return r.Tx.Bytes+r.Rx.Bytes > from.Tx.Bytes+from.Rx.Bytes+200_000
		})
		if err := c.Pause(t.Context()); err != nil || c.Err() != nil {
			t.Fatalf("%v, %v, notes %q", err, c.Err(), h.notes)
		}
	}
	await(t, "two reports", func() bool { n, _, _, _ := printed(out); return n >= 2 })
}
