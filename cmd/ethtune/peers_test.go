package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
)

// What iperf3 and iperf say is compared with what we say, in two namespaces with a wire between them.

const (
	farV4, farV6 = "192.0.2.2", "fde7:4e::2"
	peerRate     = 20e6 // bit/s of each stream
)

// exec is a program in the namespace, bounded in time.
func (p *place) exec(name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	p.t.Cleanup(cancel)
	return exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", p.ns, name}, args...)...)
}

// ways are the directions of a test with iperf3's flag for it. Out is from the client.
var ways = []struct {
	flag    string
	out, in bool
}{{"", true, false}, {"-R", false, true}, {"--bidir", true, true}}

// sum is one sum at the end of iperf3's JSON.
type sum struct {
	Bytes   float64 `json:"bytes"`
	BPS     float64 `json:"bits_per_second"`
	Jitter  float64 `json:"jitter_ms"`
	Lost    float64 `json:"lost_packets"`
	Packets float64 `json:"packets"`
}

// iperf3Said is what one end of iperf3 says of a test.
type iperf3Said struct {
	Error string         `json:"error"`
	End   map[string]any `json:"end"`
}

func (s iperf3Said) sum(name string) sum {
	var out sum
	b, _ := json.Marshal(s.End[name])
	_ = json.Unmarshal(b, &out)
	return out
}

// iperf3 runs a client and returns what it says.
func (h twoHosts) iperf3(args ...string) (iperf3Said, error) {
	var said iperf3Said
	out, err := h.near.exec("iperf3", append(args, "-J")...).Output()
	if jsonErr := json.Unmarshal(out, &said); jsonErr != nil {
		return said, fmt.Errorf("iperf3 %v: %v: %w: %s", args, err, jsonErr, out)
	}
	if err != nil || said.Error != "" {
		return said, fmt.Errorf("iperf3 %v: %v %s", args, err, said.Error)
	}
	return said, nil
}

// iperf2Line is a line of iperf -f b: a star where it received, and of a server's report the jitter and the loss.
var iperf2Line = regexp.MustCompile(`(?m)^\[ *(\*?)\d+\] +[\d.]+-[\d.]+ sec +(\d+) Bytes +\d+ bits/sec(?: +([\d.]+) ms +(\d+)/ *(\d+))?`)

// iperf2 runs a client of iperf and returns its sums: sent, received, and what the reports of the server say.
func (h twoHosts) iperf2(args ...string) (sent, received, report sum, err error) {
	out, err := h.near.exec("iperf", append(args, "-f", "b")...).CombinedOutput()
	if err != nil {
		return sent, received, report, fmt.Errorf("iperf %v: %v: %s", args, err, out)
	}
	for _, m := range iperf2Line.FindAllStringSubmatch(string(out), -1) {
		number := func(i int) float64 { v, _ := strconv.ParseFloat(m[i], 64); return v }
		switch {
		case m[5] != "":
			report.Bytes, report.Jitter = report.Bytes+number(2), max(report.Jitter, number(3))
			report.Lost, report.Packets = report.Lost+number(4), report.Packets+number(5)
		case m[1] != "":
			received.Bytes += number(2)
		default:
			sent.Bytes += number(2)
		}
	}
	return sent, received, report, nil
}

// guestBook keeps what a server says of the guests that left.
type guestBook struct {
	mu   sync.Mutex
	here map[int]metric.Guest
	left []metric.Guest
}

// keep reads the lines of a server to their end.
func (b *guestBook) keep(s *bufio.Scanner) {
	for s.Scan() {
		var g metric.Guest
		if json.Unmarshal(s.Bytes(), &g) != nil || g.Event == "" {
			continue
		}
		b.mu.Lock()
		if b.here[g.ID] = g; g.Event == "out" {
			delete(b.here, g.ID)
			b.left = append(b.left, g)
		}
		b.mu.Unlock()
	}
}

// take waits until n guests have left that match, and takes them out.
func (b *guestBook) take(n int, match func(metric.Guest) bool) ([]metric.Guest, error) {
	late := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var found, rest []metric.Guest
		b.mu.Lock()
		for _, g := range b.left {
			if match(g) {
				found = append(found, g)
			} else {
				rest = append(rest, g)
			}
		}
		if len(found) >= n {
			b.left = rest
			b.mu.Unlock()
			return found, nil
		}
		b.mu.Unlock()
		select {
		case <-tick.C:
		case <-late:
			b.mu.Lock()
			defer b.mu.Unlock()
			return nil, fmt.Errorf("%d of %d guests have left; there are %+v", len(found), n, b.here)
		}
	}
}

// from matches guests of a dialect and an address family.
func from(dialect string, v6 bool) func(metric.Guest) bool {
	return func(g metric.Guest) bool { return g.Dialect == dialect && strings.HasPrefix(g.Peer, "[") == v6 }
}

// TestStockClients is every way in which iperf3 and iperf take a server, by both families at once, each end's numbers
// against the other's.
func TestStockClients(t *testing.T) {
	needRoot(t, "iperf3", "iperf")
	h := newTwoHosts(t)
	_, said := h.serve("--json")
	book := &guestBook{here: make(map[int]metric.Guest)}
	go book.keep(said)
	var lanes sync.WaitGroup
	for _, to := range []string{farV4, farV6} {
		v6 := to == farV6
		lanes.Go(func() {
			for _, udp := range []bool{false, true} {
				for _, w := range ways {
					for _, streams := range []int{1, 2} {
						args := []string{"-c", to, "-t", "1", "-b", "20M", "-P", strconv.Itoa(streams)}
						args = with(args, w.flag, udp)
						err := steadily(func() error { return h.checkIperf3(args, w.out, w.in, udp, book, from("iperf3", v6)) })
						if err != nil {
							t.Errorf("iperf3 %v: %v", args, err)
						}
					}
				}
			}
		})
		lanes.Go(func() {
			for _, udp := range []bool{false, true} {
				for _, w := range ways {
					if udp && w.in {
						continue // one datagram proves no address, so nothing is sent
					}
					for _, streams := range []int{1, 2} {
						args := []string{"-c", to, "-t", "1", "-b", "20M", "-P", strconv.Itoa(streams)}
						if v6 {
							args = append(args, "-V")
						}
						args = with(args, strings.Replace(w.flag, "--bidir", "--full-duplex", 1), udp)
						err := steadily(func() error { return h.checkIperf2(args, streams, udp, book, from("iperf2", v6)) })
						if err != nil {
							t.Errorf("iperf %v: %v", args, err)
						}
					}
				}
			}
		})
	}
	lanes.Wait()
}

// with adds what is not always there.
func with(args []string, flag string, udp bool) []string {
	if flag != "" {
		args = append(args, flag)
	}
	if udp {
		args = append(args, "-u")
	}
	return args
}

// checkIperf3 runs one client and compares what it says with its guest at the server.
func (h twoHosts) checkIperf3(args []string, out, in, udp bool, book *guestBook, match func(metric.Guest) bool) error {
	said, err := h.iperf3(args...)
	if err != nil {
		return err
	}
	left, err := book.take(1, match)
	if err != nil {
		return err
	}
	g := left[0]
	if g.Reason != "" {
		return fmt.Errorf("the server says: %s", g.Reason)
	}
	sent, got := said.sum("sum_sent"), said.sum("sum_received")
	if out && !near(float64(g.RxBytes), got.Bytes, 0.01) {
		return fmt.Errorf("it was told of %.0f bytes, guest %+v", got.Bytes, g)
	}
	if out && !near(got.Bytes, sent.Bytes, 0.01) {
		return fmt.Errorf("%w: sent %.0f bytes, arrived %.0f, guest %+v", errBusy, sent.Bytes, got.Bytes, g)
	}
	if s := said.sum("sum"); out && udp {
		if g.Lost.Or(-1) != s.Lost || g.Packets.Or(-1) != s.Packets || !sane(s.Jitter) || !sane(g.JitterMs.Or(-1)) {
			return fmt.Errorf("it says %+v, guest %+v", s, g)
		}
	}
	if in {
		back := ""
		if out {
			back = "_bidir_reverse"
		}
		// What was still on its way when the client ended the test it does not count.
		sent, got := said.sum("sum_sent"+back), said.sum("sum_received"+back)
		if !near(float64(g.TxBytes), sent.Bytes, 0.01) || got.Bytes > sent.Bytes {
			return fmt.Errorf("in: it was told of %.0f bytes, of which %.0f arrived, guest %+v", sent.Bytes, got.Bytes, g)
		}
		if !near(got.Bytes, sent.Bytes, 0.05) {
			return fmt.Errorf("%w: in: sent %.0f bytes, arrived %.0f", errBusy, sent.Bytes, got.Bytes)
		}
		if s := said.sum("sum" + back); udp && !sane(s.Jitter) {
			return fmt.Errorf("in: %+v", s)
		}
	}
	return nil
}

// checkIperf2 does the same for iperf, whose streams are a guest each.
func (h twoHosts) checkIperf2(args []string, streams int, udp bool, book *guestBook, match func(metric.Guest) bool) error {
	sent, received, report, err := h.iperf2(args...)
	if err != nil {
		return err
	}
	left, err := book.take(streams, match)
	if err != nil {
		return fmt.Errorf("%w; it sent %.0f bytes and received %.0f", err, sent.Bytes, received.Bytes)
	}
	var rx, tx, lost, packets float64
	for _, g := range left {
		if g.Reason != "" {
			return fmt.Errorf("the server says: %s", g.Reason)
		}
		rx, tx = rx+float64(g.RxBytes), tx+float64(g.TxBytes)
		lost, packets = lost+g.Lost.Or(0), packets+g.Packets.Or(0)
	}
	switch {
	case sent.Bytes+received.Bytes == 0:
		return fmt.Errorf("it said nothing that is understood")
	case sent.Bytes > 0 && !near(rx, sent.Bytes, 0.01), received.Bytes > 0 && !near(received.Bytes, tx, 0.01):
		return fmt.Errorf("%w: sent %.0f bytes, received %.0f, guests received %.0f, sent %.0f", errBusy, sent.Bytes, received.Bytes, rx, tx)
	case udp && (report.Lost != lost || report.Packets != packets+float64(streams) || report.Jitter >= mostJitter):
		// The datagram that ends a stream counts in a report, and is none of the load.
		return fmt.Errorf("the report says %+v, the guests lost %.0f of %.0f", report, lost, packets)
	}
	return nil
}

// TestEightAtOnce is what stock servers cannot do.
func TestEightAtOnce(t *testing.T) {
	needRoot(t, "iperf3")
	h := newTwoHosts(t)
	_, said := h.serve("--json")
	book := &guestBook{here: make(map[int]metric.Guest)}
	go book.keep(said)
	if err := steadily(func() error { return h.eight(book) }); err != nil {
		t.Error(err)
	}
}

// eight runs two clients of each kind at once, and compares what they say with their guests at the server.
func (h twoHosts) eight(book *guestBook) error {
	kinds := []struct {
		args  []string
		proto metric.Proto
		mode  metric.Mode
	}{
		{nil, metric.TCP, metric.ModeOut}, {[]string{"-R"}, metric.TCP, metric.ModeIn},
		{[]string{"-u"}, metric.UDP, metric.ModeOut}, {[]string{"-u", "-R"}, metric.UDP, metric.ModeIn},
	}
	sent := make([]float64, len(kinds)) // of two clients each
	var errs []error
	var mu sync.Mutex // guards both
	var all sync.WaitGroup
	for i := range 8 {
		kind := i % len(kinds)
		all.Go(func() {
			got, err := h.iperf3(append([]string{"-c", farV4, "-t", "2", "-b", "10M"}, kinds[kind].args...)...)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return
			}
			sent[kind] += got.sum("sum_sent").Bytes
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i, k := range kinds {
		left, err := book.take(2, func(g metric.Guest) bool { return g.Proto == k.proto && g.Mode == k.mode })
		if err != nil {
			return err
		}
		bytes := 0.0
		for _, g := range left {
			bytes += float64(g.RxBytes + g.TxBytes)
		}
		if !near(bytes, sent[i], 0.01) || !near(sent[i], 2*2*10e6/8, 0.08) {
			errs = append(errs, fmt.Errorf("%w: %s %s: the clients say %.0f bytes, the server %.0f", errBusy, k.proto, k.mode, sent[i], bytes))
		}
	}
	return errors.Join(errs...)
}

// stockServer starts iperf3 -s or iperf -s at the far end, which is ended with the test, and returns it with its output once
// it listens.
func (h twoHosts) stockServer(name string, args ...string) (*exec.Cmd, io.Reader) {
	t := h.far.t
	t.Helper()
	c := h.far.exec("stdbuf", append([]string{"-oL", name, "-s"}, args...)...)
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = w, w
	err = c.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		out.Close()
	})
	h.awaitPort(name, args)
	return c, out
}

// awaitPort waits until somebody listens at the far end on the port that args or the program's name say.
func (h twoHosts) awaitPort(name string, args []string) {
	t := h.far.t
	t.Helper()
	port, list := map[string]string{"iperf3": "5201", "iperf": "5001"}[name], "-Hltn"
	bind := ""
	for i, a := range args {
		switch a {
		case "-p":
			port = args[i+1]
		case "-B":
			bind = args[i+1]
		case "-u":
			list = "-Hlun"
		}
	}
	late := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		for l := range strings.Lines(output(t, "ip", "netns", "exec", h.far.ns, "ss", list, "sport = :"+port)) {
			if strings.Contains(l, bind) {
				return
			}
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s %v does not listen on port %s", name, args, port)
		}
	}
}
