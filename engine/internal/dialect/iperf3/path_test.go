package iperf3

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
)

// inNamespace runs the calling test once more, in a new network namespace whose loopback is up, and reports whether this
// is that run.
func inNamespace(t *testing.T) bool {
	t.Helper()
	const again = "ETHTUNE_TEST_NAMESPACE"
	if os.Getenv(again) != "" {
		run(t, "ip link set lo up")
		return true
	}
	for _, tool := range []string{"ip", "tc"} {
		_, err := exec.LookPath(tool)
		need(t, err == nil, "needs "+tool+" of iproute2")
	}
	need(t, os.Geteuid() == 0, "needs root for a network namespace")
	ctx, cancel := context.WithTimeout(context.Background(), 4*late)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), again+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := cmd.CombinedOutput()
	if err != nil || testing.Verbose() {
		t.Logf("%s", out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return false
}

func run(t *testing.T, command string) {
	t.Helper()
	args := strings.Fields(command)
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// farIP is the address at the other end of a path.
const farIP = "10.78.2.2"

// inside starts a program in a network namespace of its own that is over with the test.
func inside(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// path makes a way from this namespace over a router to a namespace with a stock server, and returns how to run a command
// on the router.
func path(t *testing.T) (router func(command string)) {
	t.Helper()
	stock(t)
	r, far := inside(t, "sleep", "300"), inside(t, stock(t), "-s", "-p", "5201")
	at := func(cmd *exec.Cmd) func(string) {
		return func(command string) { run(t, fmt.Sprintf("nsenter -t %d -n %s", cmd.Process.Pid, command)) }
	}
	router = at(r)
	run(t, fmt.Sprintf("ip link add n0 type veth peer name r0 netns %d", r.Process.Pid))
	router(fmt.Sprintf("ip link add r1 type veth peer name f0 netns %d", far.Process.Pid))
	run(t, "ip addr add 10.78.1.1/24 dev n0")
	run(t, "ip link set n0 up")
	run(t, "ip route add 10.78.2.0/24 via 10.78.1.2")
	router("ip addr add 10.78.1.2/24 dev r0")
	router("ip addr add 10.78.2.1/24 dev r1")
	router("ip link set r0 up")
	router("ip link set r1 up")
	router("sysctl -q -w net.ipv4.ip_forward=1")
	at(far)("ip addr add " + farIP + "/24 dev f0")
	at(far)("ip link set f0 up")
	at(far)("ip route add 10.78.1.0/24 via 10.78.2.1")
	return router
}

// Over a path that is too narrow, what the server tells second by second is what the path does: its rate and its loss,
// although the last of each second is still in the queue when this end has stopped.
func TestNarrowPath(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	router := path(t)
	c := dial(t, farIP+":5201", Options{})
	for _, tc := range []struct {
		rate   int64 // bit/s of payload; the path takes 5M with headers, that is 4.8M of payload
		bps    float64
		lo, hi float64 // percent lost
	}{
		{2e6, 2e6, 0, 0},
		{8e6, 4.8e6, 33, 42}, // less than 40: each second the queue fills first
	} {
		router("tc qdisc replace dev r1 root tbf rate 5mbit burst 5kb latency 60ms")
		drive(t, c, load(func(s *metric.Spec) { s.Proto, s.Size, s.RateBps = metric.UDP, 1000, tc.rate }))
		c.span(t, 1)
		// Other work on the machine may spoil a second, hardly all of them; what is told wrong is told wrong each time.
		told := ""
		for range 5 {
			first, last := c.span(t, 3)
			was, now := first.Load.Rx, last.Load.Rx
			pct := 100 * float64(now.Lost()-was.Lost()) / float64(now.Expected-was.Expected)
			bps := float64(now.Bytes-was.Bytes) * 8e9 / float64(last.Mono-first.Mono)
			told = fmt.Sprintf("at %d: %.0f bit/s arrived of %.0f, %.2f %% lost", tc.rate, bps, tc.bps, pct)
			if pct >= tc.lo && pct <= tc.hi && bps > 0.96*tc.bps && bps < 1.04*tc.bps {
				t.Log(told)
				told = ""
				break
			}
		}
		if told != "" {
			t.Error(told)
		}
		if err := c.Pause(background(t)); err != nil {
			t.Fatal(err)
		}
		c.Far()
	}
}
