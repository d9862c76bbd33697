package iperf3

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

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

// stock is the path of the real iperf3.
func stock(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("iperf3")
	need(t, err == nil, "needs iperf3")
	return path
}

// lastPort is the last that freePort gave out. They are below those that the kernel gives out by itself, so that none of
// them is taken between the look and the server's bind.
var lastPort atomic.Int32

func init() { lastPort.Store(10_000 + int32(os.Getpid()%500)*20) }

// freePort is a port of host that nobody has.
func freePort(t testing.TB, host string) int {
	t.Helper()
	for range 1000 {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(int(lastPort.Add(1)))))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		return l.Addr().(*net.TCPAddr).Port
	}
	t.Fatal("no free port")
	return 0
}

// syncBuffer is what a process says, readable while it runs.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// stockServer is a running `iperf3 -s`.
type stockServer struct {
	addr string
	out  *syncBuffer
	cmd  *exec.Cmd
}

// startStock runs iperf3 -s on a loopback address until the test ends.
func startStock(t testing.TB, ip string, args ...string) *stockServer {
	t.Helper()
	path := stock(t)
	port := strconv.Itoa(freePort(t, ip))
	s := &stockServer{addr: net.JoinHostPort(ip, port), out: &syncBuffer{}}
	s.cmd = exec.Command(path, append([]string{"-s", "-p", port, "--forceflush"}, args...)...)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
	eventually(t, "iperf3 -s listens", func() bool { return bytes.Contains([]byte(s.out.String()), []byte("listening")) })
	return s
}

// late is how long a test waits for what a busy machine may make late and only a fault keeps away.
const late = time.Minute

// eventually waits until ok.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(late); !ok(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", late, what)
		}
	}
}

// atOnce runs f for every case as a subtest, n of them at a time: they mostly wait.
func atOnce[T any](t *testing.T, n int, cases []T, name func(T) string, f func(*testing.T, T)) {
	t.Helper()
	slots := make(chan struct{}, n)
	var wg sync.WaitGroup
	for _, c := range cases {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t.Run(name(c), func(t *testing.T) { f(t, c) })
		})
	}
	wg.Wait()
}

// a cell is one case of the matrix that is run with both roles.
type cell struct {
	ip    string
	proto metric.Proto
	mode  metric.Mode
	n     int
}

func (c cell) String() string { return fmt.Sprintf("%s/%s/%s/%d", c.ip, c.proto, c.mode, c.n) }

// matrix is every cell.
func matrix() []cell {
	var out []cell
	for _, ip := range []string{"127.0.0.1", "::1"} {
		for _, proto := range []metric.Proto{metric.TCP, metric.UDP} {
			for _, mode := range []metric.Mode{metric.ModeOut, metric.ModeIn, metric.ModeBoth} {
				for n := 1; n <= 2; n++ {
					out = append(out, cell{ip, proto, mode, n})
				}
			}
		}
	}
	return out
}

// report is what `iperf3 -J` prints, as far as it is compared.
type report struct {
	Error string `json:"error"`
	Start struct {
		Connected []struct{} `json:"connected"`
	} `json:"start"`
	End struct {
		Streams []struct {
			UDP sum `json:"udp"`
		} `json:"streams"`
		Sum             sum `json:"sum"`
		SumSent         sum `json:"sum_sent"`
		SumReceived     sum `json:"sum_received"`
		SumSentBack     sum `json:"sum_sent_bidir_reverse"`
		SumReceivedBack sum `json:"sum_received_bidir_reverse"`
		SumBack         sum `json:"sum_bidir_reverse"`
	} `json:"end"`
	ServerOutputText string `json:"server_output_text"`
}

type sum struct {
	Seconds  float64 `json:"seconds"`
	Bytes    float64 `json:"bytes"`
	BPS      float64 `json:"bits_per_second"`
	JitterMs float64 `json:"jitter_ms"`
	Lost     float64 `json:"lost_packets"`
	Packets  float64 `json:"packets"`
	Percent  float64 `json:"lost_percent"`
	Retrans  float64 `json:"retransmits"`
}

// runStock runs `iperf3 -J -c` against addr.
func runStock(ctx context.Context, t testing.TB, addr string, args ...string) (*report, error) {
	t.Helper()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(ctx, late)
	defer cancel()
	cmd := exec.CommandContext(ctx, stock(t), append([]string{"-J", "-c", host, "-p", port}, args...)...)
	out, err := cmd.Output()
	r := &report{}
	if jerr := json.Unmarshal(out, r); jerr != nil {
		return nil, fmt.Errorf("%w: %w: %s", err, jerr, out)
	}
	if r.Error != "" {
		err = fmt.Errorf("iperf3: %s", r.Error)
	}
	return r, err
}
