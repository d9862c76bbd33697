package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// tests are the whole tests that iperf3 -s -J has told of: all sums of them together.
func tests(text string) (all sum, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	for n := 0; ; n++ {
		var said iperf3Said
		switch err := d.Decode(&said); {
		case err == io.EOF && n == 0:
			return all, errors.New("the server says nothing")
		case err == io.EOF:
			return all, nil
		case err != nil:
			return all, err
		case said.Error != "":
			return all, fmt.Errorf("the server says: %s", said.Error)
		}
		s, got := said.sum("sum"), said.sum("sum_received")
		all.BPS, all.Jitter = max(all.BPS, got.BPS), s.Jitter
		all.Bytes, all.Lost, all.Packets = all.Bytes+got.Bytes, all.Lost+s.Lost, all.Packets+s.Packets
	}
}

// runPeer is a run against the host, and its totals by direction.
func (h twoHosts) runPeer(args ...string) (map[string]map[string]any, error) {
	out, err := h.near.run(append([]string{"run", "--json", "-t", "1"}, args...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("%v %s", err, stderrOf(err))
	}
	totals := make(map[string]map[string]any)
	for _, m := range ofType(lines(h.near.t, out), "end") {
		for _, total := range m["totals"].([]any) {
			m := total.(map[string]any)
			totals[m["dir"].(string)] = m
		}
	}
	return totals, nil
}

// TestStockServers is every run against iperf3 -s, iperf -s and iperf -s -u, by both families at once, each end's numbers
// against the other's.
func TestStockServers(t *testing.T) {
	needRoot(t, "iperf3", "iperf", "ss", "stdbuf")
	h := newTwoHosts(t)
	var lanes sync.WaitGroup
	for _, to := range []string{farV4, farV6} {
		_, out := h.stockServer("iperf3", "-J", "-B", to)
		iperf3 := &talk{}
		go iperf3.listen(out)
		iperf := []string{"-B", to, "-f", "b"}
		if to == farV6 {
			iperf = append(iperf, "-V")
		}
		lanes.Go(func() { // found out
			h.eachRun(t, []string{to}, true, func(totals map[string]map[string]any, out, udp bool) error {
				return iperf3.until(func(said string) error { return agrees(said, totals, out, udp) })
			})
		})
		lanes.Go(func() { // named
			iperf2 := &talk{}
			// Of two clients of one host, one after the other, iperf 2.1.8 dies now and then: each has a server of its own.
			fresh := func(udp bool) (stop func() (died bool)) {
				args := slices.Clone(iperf)
				if udp {
					args = append(args, "-u")
				}
				c, out := h.stockServer("iperf", args...)
				go iperf2.listen(out)
				return func() bool {
					_ = c.Process.Kill()
					_ = c.Wait()
					status, ok := c.ProcessState.Sys().(syscall.WaitStatus)
					return ok && status.Signal() != syscall.SIGKILL
				}
			}
			h.eachRun(t, []string{to, "--dialect", "iperf2"}, false, func(totals map[string]map[string]any, out, isUDP bool) error {
				if isUDP && out {
					return iperf2.until(func(said string) error { return reported(said, totals) })
				}
				iperf2.take()
				return nil
			}, fresh)
		})
	}
	lanes.Wait()
}

// eachRun runs each proto, direction and number of streams, and compares with what the server says. What iperf does not
// have over UDP, both directions at once, is refused.
func (h twoHosts) eachRun(t *testing.T, to []string, iperf3 bool, compare func(totals map[string]map[string]any, out, udp bool) error,
	servers ...func(udp bool) (stop func() (died bool))) {
	coarse := 0.0
	if !iperf3 {
		coarse = 128 << 10 * 8
	}
	for _, udp := range []bool{false, true} {
		for _, w := range ways {
			for _, streams := range []int{1, 2} {
				args := append(with(append([]string{}, to...), w.flag, udp), "-b", "20M", "-P", strconv.Itoa(streams))
				if !udp && iperf3 {
					args = append(args, "-l", "8K")
				}
				if udp && !iperf3 && w.flag == "--bidir" {
					c := h.near.run(append([]string{"run"}, args...)...)
					said, _ := c.CombinedOutput()
					if c.ProcessState.ExitCode() != exitUsage || !bytes.Contains(said, []byte("not both at once")) {
						t.Errorf("run %v: exit %d, %s", args, c.ProcessState.ExitCode(), said)
					}
					continue
				}
				err := steadily(func() (err error) {
					for _, serve := range servers {
						stop := serve(udp)
						defer func() {
							if stop() && err != nil {
								err = fmt.Errorf("%w: %w", errDied, err)
							}
						}()
					}
					totals, err := h.runPeer(args...)
					if err != nil {
						return err
					}
					same := compare(totals, w.out, udp)
					if err := checkTotals(totals, w.out, w.in, udp, streams, coarse); err != nil {
						return err
					}
					return same
				})
				if err != nil {
					t.Errorf("run %v: %v", args, err)
				}
			}
		}
	}
}

// agrees compares a run with what iperf3 -s -J says of it.
func agrees(text string, totals map[string]map[string]any, out, udp bool) error {
	said, err := tests(text)
	if err != nil || !out {
		return err
	}
	m := totals["out"]
	if !udp {
		// Its time goes on until it has heard of the end.
		if !near(said.BPS, field(m, "tx_bps"), 0.05) {
			return fmt.Errorf("%w: the server says %+v of %v", errBusy, said, m)
		}
		return nil
	}
	if said.Packets != field(m, "packets") || said.Lost != field(m, "lost") || !sane(said.Jitter) {
		return fmt.Errorf("the server says %+v of %v", said, m)
	}
	return nil
}

// iperf2Report is the line of iperf -s -u about a stream.
var iperf2Report = regexp.MustCompile(`(?m)^\[ *\d+\] +[\d.]+-[\d.]+ sec +(\d+) Bytes +\d+ bits/sec +([\d.]+) ms +(-?\d+)/ *(\d+)`)

// reported compares a run with the reports of iperf -s -u. What it makes of datagrams that come while it opens a socket for
// a stream it counts with another one.
func reported(text string, totals map[string]map[string]any) error {
	var packets float64
	streams := 0
	for _, m := range iperf2Report.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.ParseFloat(m[4], 64)
		packets += n
		streams++
	}
	m := totals["out"]
	if streams > 0 && !near(field(m, "packets"), packets, 0.01) {
		return fmt.Errorf("%w: the server says %s of %v", errBusy, text, m)
	}
	if streams == 0 {
		return fmt.Errorf("the server says %s of %v", text, m)
	}
	return nil
}

// TestFindsOut is a stock server of which only the host or the port is known.
func TestFindsOut(t *testing.T) {
	needRoot(t, "iperf3", "iperf", "ss", "stdbuf")
	h := newTwoHosts(t)
	h.stockServer("iperf3", "-p", "7777")
	for _, tc := range []struct{ args, dialect string }{
		{farV4, "iperf2"}, {farV4 + " -u", "iperf2"}, {farV4 + " -p 5001", "iperf2"}, {farV4 + ":5001 -u", "iperf2"},
		{farV4 + " -p 7777", "iperf3"}, {farV4 + ":7777 -u", "iperf3"},
	} {
		// Of two clients of one host, one after the other, iperf 2.1.8 dies now and then.
		tcp, _ := h.stockServer("iperf")
		udp, _ := h.stockServer("iperf", "-u")
		out, err := h.near.run(append([]string{"run", "--json", "-t", "0.3", "-b", "20M"}, strings.Fields(tc.args)...)...).Output()
		for _, c := range []*exec.Cmd{tcp, udp} {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
		if err != nil {
			t.Errorf("run %s: %v %s", tc.args, err, stderrOf(err))
			continue
		}
		if start := ofType(lines(t, out), "start"); start[0]["dialect"] != tc.dialect {
			t.Errorf("run %s: it speaks %v", tc.args, start[0]["dialect"])
		}
	}
}

// TestRunIsRefused is what ends with a code that says whose fault it was, and in plain words.
func TestRunIsRefused(t *testing.T) {
	needRoot(t, "iperf3", "ss", "stdbuf")
	h := newTwoHosts(t)
	h.stockServer("iperf3")
	other := h.near.exec("iperf3", "-c", farV4, "-t", "240", "-b", "1M", "--forceflush")
	out, err := other.StdoutPipe()
	if err == nil {
		err = other.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = other.Process.Kill()
		_ = other.Wait()
	}()
	if !waitFor(out, "connected") {
		t.Fatal("the other client does not run")
	}
	for args, want := range map[string]struct {
		code  int
		words string
	}{
		farV4:                                 {exitPeer, "busy with another test"},
		farV4 + " -p 5201":                    {exitPeer, "busy with another test"},
		farV4 + " --dialect iperf3":           {exitPeer, "busy with another test"},
		farV4 + " --dialect native":           {exitPeer, "refused"},
		farV4 + " --dialect native -p 5201":   {exitPeer, "ethtune serve"},
		farV4 + " --dialect iperf4":           {exitUsage, "native, iperf3 or iperf2"},
		farV4 + " --dialect iperf2 -A 0,0":    {exitUsage, "cannot set the server"},
		farV4 + " --dialect iperf3 -C nosuch": {exitPeer, "busy"},
	} {
		from := time.Now()
		c := h.near.run(append([]string{"run", "-t", "1", "-R"}, strings.Fields(args)...)...)
		said, _ := c.CombinedOutput()
		if c.ProcessState.ExitCode() != want.code || !strings.Contains(string(said), want.words) || bytes.Count(said, []byte("\n")) != 1 {
			t.Errorf("run %s: exit %d, %s", args, c.ProcessState.ExitCode(), said)
		}
		if d := time.Since(from); d > 40*time.Second {
			t.Errorf("run %s: it takes %v to say so", args, d)
		}
	}
}

// waitFor reads until the word has come.
func waitFor(r io.Reader, word string) bool {
	var text []byte
	b := make([]byte, 1024)
	for {
		n, err := r.Read(b)
		text = append(text, b[:n]...)
		if bytes.Contains(text, []byte(word)) {
			return true
		}
		if err != nil {
			return false
		}
	}
}

// TestFixedByTheDialect is what a dialect cannot do: shown with the reason, not left to fail.
func TestFixedByTheDialect(t *testing.T) {
	needRoot(t, "iperf3", "iperf", "ss", "stdbuf")
	h := newTwoHosts(t)
	h.stockServer("iperf3")
	h.stockServer("iperf")
	for dialect, want := range map[string]map[string]bool{
		"iperf3": {"far engine.affinity": true, "near engine.affinity": false, "far socket.sndbuf": false, "near engine.rate": false},
		"iperf2": {"far engine.affinity": true, "near engine.affinity": false, "far socket.sndbuf": true, "far socket.congestion": true,
			"near engine.protocol": true, "near socket.sndbuf": false},
	} {
		out, err := h.near.run("run", "--json", "-t", "0.3", "-b", "20M", farV4, "--dialect", dialect).Output()
		if err != nil {
			t.Fatalf("%v %s", err, stderrOf(err))
		}
		seen := 0
		for _, k := range ofType(lines(t, out), "start")[0]["knobs"].([]any) {
			m := k.(map[string]any)
			fixed, ok := want[fmt.Sprintf("%v %v", m["side"], m["knob"])]
			if !ok {
				continue
			}
			seen++
			if why, _ := m["fixed"].(string); (why != "") != fixed {
				t.Errorf("%s: %v", dialect, m)
			}
		}
		if seen != len(want) {
			t.Errorf("%s: %d of %d knobs", dialect, seen, len(want))
		}
	}
}

// TestStockServerComesBack has a server die and come back while load flows: what flowed before flows again, and not less.
func TestStockServerComesBack(t *testing.T) {
	needRoot(t, "iperf", "ss", "stdbuf")
	h := newTwoHosts(t)
	server, _ := h.stockServer("iperf")
	c := h.near.run("run", farV4, "--json", "-t", "200", "-i", "0.5", "-b", "20M", "-R", "-P", "2", "--dialect", "iperf2")
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	}()
	s := bufio.NewScanner(out)
	s.Buffer(nil, 1<<20)
	until := func(words ...string) {
		t.Helper()
		for s.Scan() {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(s.Text(), w) }) {
				return
			}
		}
		t.Fatalf("%q never came", words)
	}
	flows := func() { t.Helper(); until(`"dir":"in"`, `"rx_bps"`) }
	flows()
	_ = server.Process.Kill()
	_ = server.Wait()
	until("traffic does not go on", "refused")
	h.stockServer("iperf")
	until("the peer is back")
	flows() // the last of before
	flows()
}
