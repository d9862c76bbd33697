package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
)

// soakEnv is how many seconds the soak test takes.
const soakEnv = "ETHTUNE_SOAK"

// Bounds of the soak test.
const (
	soakSeconds  = 5
	hostileEvery = 50 * time.Millisecond
	soakGrowth   = 8 << 20 // bytes of resident memory
	soakLoss     = 0.05    // the share that a busy machine may lose: its processes wait for each other, and a socket holds so much
)

// ports are those of a server on loopback.
type ports struct{ native, iperf3, iperf2 string }

func (p ports) all() []string { return []string{p.native, p.iperf3, p.iperf2} }

// hostile is what bad peers do, each with one or more connections of its own which it closes within some seconds.
var hostile = []func(p ports){
	func(p ports) { // nothing
		for _, port := range p.all() {
			say(port, 0)
		}
	},
	func(p ports) { // garbage
		for _, port := range p.all() {
			say(port, 100*time.Millisecond, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			say(port, 100*time.Millisecond, strings.Repeat("\xff\x00", 500))
		}
	},
	func(p ports) { say(p.iperf3, time.Second, cookieText[:18]) }, // half a cookie
	func(p ports) { say(p.iperf3, 100*time.Millisecond, cookieText) },
	func(p ports) {
		say(p.iperf3, 100*time.Millisecond, cookieText, "\x7f\xff\xff\xff", strings.Repeat("x", 100_000))
	},
	func(p ports) { say(p.iperf3, 100*time.Millisecond, cookieText, "\x00\x00\x00\x00") },
	func(p ports) { say(p.iperf3, 100*time.Millisecond, cookieText, frame(strings.Repeat("[", 3000))) },
	func(p ports) {
		say(p.iperf3, 100*time.Millisecond, cookieText, frame(`{"tcp":true,"parallel":100000}`))
	},
	func(p ports) { say(p.iperf3, 100*time.Millisecond, cookieText, frame(`{"tcp":true}`)) },
	func(p ports) { say(p.iperf3, 100*time.Millisecond, cookieText, frame(`{"tcp":true}`), "\x0c") },
	func(p ports) { say(p.iperf3, 100*time.Millisecond, cookieText, frame(`{"tcp":true}`), "\x04", "\x55") },
	func(p ports) { // another's cookie for the stream
		go say(p.iperf3, time.Second, cookieText, frame(`{"tcp":true}`))
		say(p.iperf3, time.Second, strings.Replace(cookieText, "a", "b", 1))
	},
	func(p ports) { say(p.native, 100*time.Millisecond, "{", strings.Repeat("a", 1<<20)) },
	func(p ports) { say(p.native, 100*time.Millisecond, "ethtune", "\n\n\n", `{"type":"hello"}`+"\n") },
	func(p ports) { say(p.iperf2, 100*time.Millisecond, "\x00\x00") },
	func(p ports) { say(p.iperf2, 100*time.Millisecond, "\xff\xff\xff\xff"+strings.Repeat("\xff", 60)) },
	func(p ports) { // strangers
		for _, port := range p.all() {
			for _, b := range []string{"9876", "x", "", strings.Repeat("\xff", 1000), strings.Repeat("\x7f", 64), "6789"} {
				c, err := net.Dial("udp", "127.0.0.1:"+port)
				if err != nil {
					continue
				}
				_, _ = c.Write([]byte(b))
				_ = c.Close()
			}
		}
	},
	func(p ports) { // slowly
		for _, port := range p.all() {
			go say(port, 200*time.Millisecond, strings.Split(strings.Repeat("x", 10), "")...)
		}
	},
	func(p ports) { // many at once
		for range 60 {
			for _, port := range p.all() {
				go say(port, time.Second)
			}
		}
	},
}

// cookieText is an iperf3 cookie with its end.
const cookieText = "abcdefghijklmnopqrstuvwxyz2345672345\x00"

// frame is an iperf3 frame.
func frame(s string) string { return string(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) + s }

// say connects, writes each text with a pause behind it, and closes. What the server thinks of that is its own affair.
func say(port string, pause time.Duration, texts ...string) {
	c, err := net.DialTimeout("tcp", "127.0.0.1:"+port, time.Second)
	if err != nil {
		return
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	for i := 0; i == 0 || i < len(texts); i++ {
		if i < len(texts) {
			if _, err := c.Write([]byte(texts[i])); err != nil {
				return
			}
		}
		<-time.After(pause)
	}
}

// TestSoak has hostile peers at all ports while two good clients measure: those get what they ask for, and the server is
// afterwards as it was.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	if _, err := exec.LookPath("iperf3"); err != nil {
		needRoot(t, "iperf3")
	}
	seconds := soakSeconds
	if text := os.Getenv(soakEnv); text != "" {
		var err error
		if seconds, err = strconv.Atoi(text); err != nil || seconds < 1 {
			t.Fatalf("%s=%q: seconds", soakEnv, text)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second+time.Minute)
	defer cancel()
	ours := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(ctx, os.Args[0], args...)
		c.Env = append(os.Environ(), beProgram+"=1")
		return c
	}
	p := ports{unusedPort(t), unusedPort(t), unusedPort(t)}
	server := ours("serve", "--json", "--native", "127.0.0.1:"+p.native, "--iperf3", "127.0.0.1:"+p.iperf3, "--iperf2", "127.0.0.1:"+p.iperf2)
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	}()
	said := bufio.NewScanner(out)
	for range 3 {
		if !said.Scan() || strings.Contains(said.Text(), "skipped") {
			t.Fatalf("the server says %q", said.Text())
		}
	}
	here := make(chan struct{}, 1) // somebody is there
	go func() {
		for said.Scan() {
			if strings.Contains(said.Text(), `"here"`) {
				select {
				case here <- struct{}{}:
				default:
				}
			}
		}
	}()
	agents := descendants(t, server.Process.Pid)
	if len(agents) != 1 {
		t.Fatalf("agents %v", agents)
	}
	files := openFiles(agents[0])
	var clients sync.WaitGroup
	clients.Go(func() {
		out, err := exec.CommandContext(ctx, "iperf3", "-c", "127.0.0.1", "-p", p.iperf3, "-u", "-b", "20M", "-t", strconv.Itoa(seconds), "-J").Output()
		var said iperf3Said
		if err == nil {
			err = json.Unmarshal(out, &said)
		}
		if s := said.sum("sum"); err != nil || !within(s.Lost, s.Packets, 0, soakLoss) || !within(s.Bytes, 20e6/8*float64(seconds), 0.6, mostRate) {
			t.Errorf("iperf3: %v, %+v %s", err, s, said.Error)
		}
	})
	clients.Go(func() {
		out, err := ours("run", "127.0.0.1:"+p.native, "--json", "-u", "-b", "20M", "-t", strconv.Itoa(seconds)).Output()
		if err != nil {
			t.Errorf("run: %v %s", err, stderrOf(err))
			return
		}
		var total struct {
			Totals []struct {
				Lost    metric.Num `json:"lost"`
				Packets metric.Num `json:"packets"`
				RxBps   metric.Num `json:"rx_bps"`
			} `json:"totals"`
		}
		_ = json.Unmarshal(bytes.TrimSpace(out[bytes.LastIndexByte(bytes.TrimSpace(out), '\n')+1:]), &total)
		if len(total.Totals) != 1 {
			t.Errorf("run: %+v", total)
			return
		}
		if m := total.Totals[0]; !within(m.Lost.Or(-1), m.Packets.Or(0), 0, soakLoss) || !within(m.RxBps.Or(0), 20e6, 0.6, mostRate) {
			t.Errorf("run: %+v", m)
		}
	})
	select {
	case <-here:
	case <-ctx.Done():
		t.Fatal("no client comes")
	}
	before := resident(t, agents[0])
	most := before
	end := time.After(time.Duration(seconds)*time.Second - 1500*time.Millisecond)
	tick := time.NewTicker(hostileEvery)
	defer tick.Stop()
	var bad sync.WaitGroup
	for n, over := 0, false; !over; n++ {
		bad.Go(func() { hostile[n%len(hostile)](p) })
		most = max(most, resident(t, agents[0]))
		select {
		case <-tick.C:
		case <-end:
			over = true
		}
	}
	clients.Wait()
	bad.Wait()
	t.Logf("resident %d KiB before, at most %d KiB", before>>10, most>>10)
	if most-before > soakGrowth {
		t.Errorf("the server has grown from %d to %d bytes", before, most)
	}
	late := time.After(patience)
	for n := openFiles(agents[0]); n > files; n = openFiles(agents[0]) {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("the server has %d descriptors, and had %d", n, files)
		}
	}
	if left, err := net.DialTimeout("tcp", "127.0.0.1:"+p.iperf3, patience); err != nil {
		t.Errorf("the server is gone: %v", err)
	} else {
		_ = left.Close()
	}
}

// openFiles is how many descriptors a process has.
func openFiles(pid int) int {
	d, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return len(d)
}

// resident is the memory of a process in bytes.
func resident(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	f := strings.Fields(string(b))
	if err != nil || len(f) < 2 {
		t.Fatalf("the server is gone: %v", err)
	}
	pages, _ := strconv.Atoi(f[1])
	return pages * os.Getpagesize()
}
