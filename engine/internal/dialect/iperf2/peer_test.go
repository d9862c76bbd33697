package iperf2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/metric"
)

// need skips the test where ok is false, or fails it where the environment demands that everything runs.
func need(t testing.TB, ok bool, reason string) {
	t.Helper()
	if ok {
		return
	}
	if os.Getenv("ETHTUNE_REQUIRE") == "all" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// iperf is the real program.
func iperf(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("iperf")
	need(t, err == nil, "no iperf (package iperf)")
	return path
}

// output is what a running program has written so far.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// patience is how long a test waits for what a busy machine may make late and only a fault keeps away.
const patience = time.Minute

// await polls until ok.
func await(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("no %s within %v", what, patience)
		}
	}
}

// lastPort is the last that freePort gave out. They are below those that the kernel gives out by itself, so that none of
// them is taken between the look and the server's bind.
var lastPort atomic.Int32

func init() { lastPort.Store(20_000 + int32(os.Getpid()%500)*20) }

// freePort is a port of host that nobody has, of TCP and of UDP. iperf shares a UDP port with others without a word.
func freePort(t testing.TB, host string) int {
	t.Helper()
	for range 1000 {
		addr := net.JoinHostPort(host, strconv.Itoa(int(lastPort.Add(1))))
		l, err := net.Listen("tcp", addr)
		if err != nil {
			need(t, !errors.Is(err, unix.EADDRNOTAVAIL), "no address "+host)
			continue
		}
		l.Close()
		u, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}
		u.Close()
		return l.Addr().(*net.TCPAddr).Port
	}
	t.Fatal("no free port")
	return 0
}

// stockServer is a running `iperf -s`.
type stockServer struct {
	addr string
	out  *output
	cmd  *exec.Cmd
	over chan struct{} // closed when it has ended
}

// crashed says whether it has died of a fault of its own.
func (s *stockServer) crashed() bool {
	select {
	case <-s.over:
		status, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
		return ok && status.Signaled() && status.Signal() != syscall.SIGKILL
	default:
		return false
	}
}

// serveStock runs `iperf -s` on a free port until the test ends.
func serveStock(t testing.TB, host string, args ...string) *stockServer {
	t.Helper()
	path := iperf(t)
	port := freePort(t, host)
	s := &stockServer{addr: net.JoinHostPort(host, strconv.Itoa(port)), out: &output{}, over: make(chan struct{})}
	if strings.Contains(host, ":") {
		args = append(args, "-V")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	s.cmd = exec.CommandContext(ctx, path, append([]string{"-s", "-e", "-f", "k", "-p", strconv.Itoa(port)}, args...)...)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.over)
		_ = s.cmd.Wait()
	}()
	t.Cleanup(func() {
		cancel()
		<-s.over
		if t.Failed() {
			t.Logf("iperf -s: %v\n%s", s.cmd.ProcessState, s.out)
		}
	})
	await(t, "iperf server", func() bool { return strings.Contains(s.out.String(), "listening") })
	return s
}

// hooked are Hooks that keep what they are told.
type hooked struct {
	mu    sync.Mutex
	notes []string
	begun int
}

func (h *hooked) hooks() dialect.Hooks {
	return dialect.Hooks{
		Begin: func() { h.mu.Lock(); defer h.mu.Unlock(); h.begun++ },
		Note: func(f string, a ...any) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.notes = append(h.notes, fmt.Sprintf(f, a...))
		},
	}
}

func dial(t testing.TB, addr string, proto metric.Proto, o Options) (*Client, *hooked) {
	t.Helper()
	h := &hooked{}
	c, err := Dial(t.Context(), addr, proto, o, h.hooks())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, h
}

func drive(t testing.TB, c *Client, mode metric.Mode, change func(*metric.Spec)) metric.Spec {
	t.Helper()
	spec := metric.DefaultSpec()
	spec.Proto, spec.Mode = c.proto, mode
	if c.proto == metric.UDP {
		spec.RateBps = 20_000_000
	}
	if change != nil {
		change(&spec)
	}
	if err := c.Drive(t.Context(), spec, false); err != nil {
		t.Fatal(err)
	}
	return spec
}
