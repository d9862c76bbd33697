package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
)

// program is one that carries load when it is its turn.
type program struct {
	name string
	run  func() result
}

// result is what one run carried.
type result struct {
	rx   float64 // bit/s of payload that arrived
	rate float64 // bit/s once it runs: sent for UDP, arrived for TCP, whose acknowledgments are told late
	loss float64 // percent
	cpu  float64 // seconds of both processes, user and system, for each GB that arrived
}

// wire is two network namespaces with a veth pair between them.
type wire struct {
	near, far string // processes that hold them
	seconds   int
}

func newWire(b *testing.B, seconds int) *wire {
	w := &wire{near: hold(b), far: hold(b), seconds: seconds}
	run(b, "ip", "link", "add", "etn0", "netns", w.near, "type", "veth", "peer", "name", "etf0", "netns", w.far)
	for _, end := range [][3]string{{w.near, "etn0", nearIP}, {w.far, "etf0", farIP}} {
		// iperf3 and iperf choose cubic once they are connected. A connection that began with bbr would stay paced.
		run(b, "nsenter", "-t", end[0], "-n", "sh", "-c", "echo reno > /proc/sys/net/ipv4/tcp_congestion_control")
		for _, args := range []string{"addr add " + end[2] + "/24 dev " + end[1], "link set " + end[1] + " up", "link set lo up"} {
			run(b, "nsenter", append([]string{"-t", end[0], "-n", "ip"}, strings.Fields(args)...)...)
		}
	}
	return w
}

// hold starts a process that only holds a network namespace, and returns its id.
func hold(b *testing.B) string {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+roleHold)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return strconv.Itoa(cmd.Process.Pid)
}

// in is a command in the namespace that holder holds. nsenter becomes the program, which is what Process then is.
func in(ctx context.Context, holder string, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "nsenter", append([]string{"-t", holder, "-n"}, args...)...)
}

// serve starts a server and waits until it says the word.
func (w *wire) serve(b *testing.B, cmd *exec.Cmd, word string) {
	b.Helper()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	scan := bufio.NewScanner(out)
	for scan.Scan() {
		if strings.Contains(scan.Text(), word) {
			go func() { _, _ = io.Copy(io.Discard, out) }() // Wait ends it
			return
		}
	}
	b.Fatalf("%s never said %q", cmd, word)
}

// limit bounds one run: what it takes, and what starting and ending may.
func (w *wire) limit() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), time.Duration(w.seconds)*time.Second+20*time.Second)
}

// output runs a client.
func output(b *testing.B, cmd *exec.Cmd) []byte {
	b.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v\n%s%s", cmd, err, out.Bytes(), errs.Bytes())
	}
	return out.Bytes()
}

// perGB is the processor time of the commands for each GB of rate bit/s over the run.
func (w *wire) perGB(rate float64, cmds ...*exec.Cmd) float64 {
	var used time.Duration
	for _, c := range cmds {
		used += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	return used.Seconds() / (rate * float64(w.seconds) / 8e9)
}

// ethtune runs an [Engine] against a [Server].
func (w *wire) ethtune(b *testing.B, spec metric.Spec) result {
	b.Helper()
	ctx, cancel := w.limit()
	defer cancel()
	far := in(ctx, w.far, os.Args[0])
	far.Env = append(os.Environ(), roleEnv+"="+roleFar)
	stdin, err := far.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	go func() { _, _ = io.WriteString(stdin, "\n") }() // a server that does not start says so elsewhere
	w.serve(b, far, "serving")
	order, err := json.Marshal(spec)
	if err != nil {
		b.Fatal(err)
	}
	near := in(ctx, w.near, os.Args[0])
	near.Env = append(os.Environ(), roleEnv+"="+roleLoad, loadEnv+"="+string(order), secondsEnv+"="+strconv.Itoa(w.seconds))
	var said carried
	if err := json.Unmarshal(output(b, near), &said); err != nil {
		b.Fatal(err)
	}
	_ = stdin.Close()
	if err := far.Wait(); err != nil {
		b.Fatal(err)
	}
	f, rx := said.All, said.All.RxBps.Or(0)
	return result{rx: rx, rate: said.Steady, loss: f.LossPct.Or(0), cpu: w.perGB(rx, near, far)}
}

// carried is what the near end of one run prints: one Frame of all of it, and the rate in bit/s without the beginning.
type carried struct {
	All    *metric.Frame
	Steady float64
}

// settled is how many seconds from the start are not counted as steady.
const settled = 0.35

// carry is the near end of one run: it carries the load of the environment.
func carry() error {
	var spec metric.Spec
	if err := json.Unmarshal([]byte(os.Getenv(loadEnv)), &spec); err != nil {
		return err
	}
	seconds, err := strconv.Atoi(os.Getenv(secondsEnv))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(seconds)*time.Second+10*time.Second)
	defer cancel()
	feed := metric.NewFeed()
	read := feed.Reader("bench", 1000)
	e, err := Dial(ctx, farIP+":"+port, Options{}, feed)
	if err != nil {
		return err
	}
	defer e.Close()
	if _, err := e.Drive(ctx, spec); err != nil {
		return err
	}
	var all metric.Merger
	var from, to meter
	for all.Span() < float64(seconds) {
		r, err := read.Next(ctx)
		if err != nil {
			return err
		}
		f, ok := r.(*metric.Frame)
		if !ok {
			continue
		}
		all.Add(f)
		e.mu.Lock()
		to = e.measures.meter
		e.mu.Unlock()
		if f.T < settled {
			from = to
		}
	}
	out := carried{All: all.Take()}
	if spec.Proto == metric.UDP {
		out.Steady = float64(to.near.load.Tx.Bytes-from.near.load.Tx.Bytes) * 8e9 / float64(to.near.mono-from.near.mono)
	} else {
		out.Steady = float64(to.far.load.Rx.Bytes-from.far.load.Rx.Bytes) * 8e9 / float64(to.far.mono-from.far.mono)
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// iperf3 runs iperf3's client against its server.
func (w *wire) iperf3(b *testing.B, args ...string) result {
	b.Helper()
	ctx, cancel := w.limit()
	defer cancel()
	server := in(ctx, w.far, "iperf3", "-s", "-1", "--forceflush", "-B", farIP)
	w.serve(b, server, "Server listening")
	client := in(ctx, w.near, append([]string{"iperf3", "-c", farIP, "-J", "-t", strconv.Itoa(w.seconds)}, args...)...)
	var said struct {
		End struct {
			Received iperf3Sum `json:"sum_received"`
			Sum      iperf3Sum `json:"sum"` // UDP
		} `json:"end"`
	}
	if err := json.Unmarshal(output(b, client), &said); err != nil {
		b.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		b.Fatal(err)
	}
	r := result{rx: said.End.Received.BPS, rate: said.End.Received.BPS, loss: said.End.Sum.Loss}
	if sent := said.End.Sum.BPS; sent > 0 {
		r.rate, r.rx = sent, sent*(1-r.loss/100)
	}
	r.cpu = w.perGB(r.rx, client, server)
	return r
}

type iperf3Sum struct {
	BPS  float64 `json:"bits_per_second"`
	Loss float64 `json:"lost_percent"`
}

// iperf runs iperf's client against its server. What its client wrote is what it says; it does not know what arrived.
func (w *wire) iperf(b *testing.B, args ...string) result {
	b.Helper()
	ctx, cancel := w.limit()
	defer cancel()
	server := in(ctx, w.far, "stdbuf", "-oL", "iperf", "-s", "-B", farIP)
	w.serve(b, server, "Server listening")
	client := in(ctx, w.near, append([]string{"iperf", "-c", farIP, "-Z", "cubic", "-y", "C", "-t", strconv.Itoa(w.seconds)}, args...)...)
	var rate float64
	lines := strings.Split(strings.TrimSpace(string(output(b, client))), "\n")
	for _, line := range lines {
		fields := strings.Split(line, ",")
		if len(fields) != 9 || fields[5] == "-1" { // which is the sum, and not always there
			continue
		}
		bps, err := strconv.ParseFloat(fields[8], 64)
		if err != nil {
			b.Fatalf("iperf said %q: %v", line, err)
		}
		rate += bps
	}
	if rate == 0 {
		b.Fatalf("iperf said %q", lines)
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		b.Fatal(err)
	}
	if err := server.Wait(); server.ProcessState == nil {
		b.Fatal(err) // that it ended by the signal is no error
	}
	return result{rx: rate, rate: rate, cpu: w.perGB(rate, client, server)}
}

// play takes the role of a process of the benchmark, if role is one.
func play(role string) {
	switch role {
	case roleHold:
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	case roleLoad:
		if err := carry(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}
