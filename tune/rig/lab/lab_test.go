package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
	"golang.org/x/sys/unix"
)

// The test binary is also the agent that the lab starts, and a parent that a test may kill.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "agent" {
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		if err := RunEnd(ctx, os.Args[3], "test"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 2 && os.Args[1] == "parent" {
		beParent()
	}
	os.Exit(m.Run())
}

// beParent opens a lab, says which processes it has, and waits to be killed.
func beParent() {
	b, err := Open(context.Background(), Options{})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	if _, err := b.Drive(context.Background(), metric.DefaultSpec()); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	near, far := pids(b)
	fmt.Println(near, far)
	select {}
}

// need skips where the lab cannot be opened, unless nothing may be skipped.
func need(t *testing.T) *rig.Bench {
	t.Helper()
	b, err := Open(t.Context(), Options{})
	if errors.Is(err, rig.ErrPermission) && os.Getenv("ETHTUNE_REQUIRE") != "all" {
		t.Skipf("the lab is not permitted here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close(context.Background()) })
	return b
}

func pids(b *rig.Bench) (near, far int) {
	n, _ := b.Near.Describe(context.Background())
	f, _ := b.Far.Describe(context.Background())
	return n.PID, f.PID
}

// alive says whether pid is a running process and not one that only waits to be reaped.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// soon is how long a test waits for the end of what sees by itself, within 5 s, that nobody is left; a busy machine takes longer.
const soon = 20 * time.Second

// waitGone waits until none of the processes is alive.
func waitGone(t *testing.T, pids ...int) {
	t.Helper()
	deadline := time.After(soon)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if !slices.ContainsFunc(pids, alive) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Errorf("still alive after %v: %v", soon, slices.DeleteFunc(pids, func(p int) bool { return !alive(p) }))
			return
		}
	}
}

// outside lists what a lab must not change here: interfaces and mounts. Named namespaces are other tests'.
func outside(t *testing.T) string {
	t.Helper()
	all, err := filepath.Glob("/sys/class/net/*")
	if err != nil {
		t.Fatal(err)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(string(mounts)) {
		if !strings.Contains(l, "/run/netns") {
			all = append(all, strings.TrimSpace(l))
		}
	}
	return strings.Join(all, "\n")
}

func TestLabRunsTrafficTurnsAndLeavesNothing(t *testing.T) {
	before := outside(t)
	b := need(t)
	ctx := t.Context()
	near, far := pids(b)
	spec := metric.DefaultSpec()
	if _, err := b.Drive(ctx, spec); err != nil {
		t.Fatal(err)
	}
	w := b.Watch("test")
	defer w.Close()
	frames := 0
	for frames < 5 {
		rec, err := w.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if f, ok := rec.(*metric.Frame); ok && f.RxBps.Or(0) > 1e6 {
			frames++
		}
	}
	states, err := b.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, side := range []knob.Side{knob.Near, knob.Far} {
		if !slices.ContainsFunc(states, func(s knob.State) bool { return s.Side == side && s.Knob == "feature.rx-gro" }) {
			t.Errorf("no rx-gro at the %s end", side)
		}
	}
	for _, s := range states {
		if s.Knob == "dev.tx_queue_len" && s.Value == "0" {
			t.Errorf("the %s end was made with a transmit queue of no length", s.Side)
		}
	}
	marks, err := b.Apply(ctx, knob.Plan{{Side: knob.Far, Knob: "feature.rx-gro", Value: "on"}, {Side: knob.Near, Knob: "dev.mtu", Value: "1400"}})
	if err != nil || len(marks) != 2 || marks[0].Outcome != "applied" || marks[1].Got != "1400" {
		t.Fatalf("%+v %v", marks, err)
	}
	back, err := b.Close(ctx)
	if err != nil || len(back) != 2 {
		t.Errorf("put back %+v, %v", back, err)
	}
	for _, r := range back {
		if !r.OK() {
			t.Errorf("not put back: %+v", r)
		}
	}
	waitGone(t, near, far)
	if after := outside(t); after != before {
		t.Errorf("the lab changed what is outside of it:\n%s\nwas\n%s", after, before)
	}
}

// TestLabUnderASharedMountTree proves that the agents' sysfs does not reach a host whose mounts propagate, as systemd's
// do.
func TestLabUnderASharedMountTree(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make a shared mount tree")
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		if os.Getenv("ETHTUNE_REQUIRE") == "all" {
			t.Fatal(err)
		}
		t.Skip("needs unshare of util-linux")
	}
	cmd := exec.CommandContext(t.Context(), unshare, "-m", "--propagation", "shared",
		os.Args[0], "-test.run", "^TestLabRunsTrafficTurnsAndLeavesNothing$", "-test.v")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTwoLabsAtOnce(t *testing.T) {
	a, b := need(t), need(t)
	ctx := t.Context()
	for _, l := range []*rig.Bench{a, b} {
		if _, err := l.Drive(ctx, metric.DefaultSpec()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Apply(ctx, knob.Plan{{Side: knob.Near, Knob: "dev.mtu", Value: "1300"}}); err != nil {
		t.Fatal(err)
	}
	states, err := b.Read(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range states {
		if s.Knob == "dev.mtu" && s.Value != "1500" {
			t.Errorf("the other lab's mtu is %s", s.Value)
		}
	}
	if _, err := a.Close(ctx); err != nil {
		t.Error(err)
	}
	w := b.Watch("test")
	defer w.Close()
	for range 3 {
		if _, err := w.Next(ctx); err != nil {
			t.Fatalf("the end of one lab ended the other: %v", err)
		}
	}
}

func TestKillingAnAgentEndsTheLab(t *testing.T) {
	for _, which := range []string{"near", "far"} {
		t.Run(which, func(t *testing.T) {
			b := need(t)
			if _, err := b.Drive(t.Context(), metric.DefaultSpec()); err != nil {
				t.Fatal(err)
			}
			near, far := pids(b)
			victim := near
			if which == "far" {
				victim = far
			}
			if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			select {
			case <-b.Done():
			case <-time.After(soon):
				t.Fatal("the Bench did not see it")
			}
			if !errors.Is(b.Lost(), rig.ErrLost) || !strings.HasPrefix(b.Lost().Error(), which) {
				t.Errorf("lost: %v", b.Lost())
			}
			b.Close(t.Context())
			waitGone(t, near, far)
		})
	}
}

// TestParentThatIsGone kills or stops the parent; its agents must not outlive its stream.
func TestParentThatIsGone(t *testing.T) {
	b := need(t) // skips where there is no lab
	if _, err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGSTOP} {
		t.Run(sig.String(), func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "parent")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
			line, err := bufio.NewReader(out).ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			var agents []int
			for _, f := range strings.Fields(line) {
				n, err := strconv.Atoi(f)
				if err != nil {
					t.Fatalf("%q", line)
				}
				agents = append(agents, n)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			waitGone(t, agents...)
		})
	}
}

func TestShutGate(t *testing.T) {
	files := map[string]string{}
	read := func(p string) ([]byte, error) {
		s, ok := files[p]
		if !ok {
			return nil, os.ErrNotExist
		}
		return []byte(s), nil
	}
	check := func(want string) {
		t.Helper()
		if got := shutGate(read); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check("needs user namespaces")
	files["/proc/self/status"] = "Name:\tx\nSeccomp:\t2\n"
	check("seccomp")
	files["/proc/sys/kernel/unprivileged_userns_clone"] = "0\n"
	check("kernel.unprivileged_userns_clone")
	files["/proc/sys/user/max_user_namespaces"] = "0\n"
	check("user.max_user_namespaces")
	files["/proc/sys/kernel/apparmor_restrict_unprivileged_userns"] = "1\n"
	check("apparmor_restrict")
	if err := explain(rig.ErrPermission); !errors.Is(err, rig.ErrPermission) || !strings.Contains(err.Error(), "go run -exec sudo ./cmd/ethtune lab") {
		t.Errorf("%v", err)
	}
}

// TestFresh proves that nobody can turn a shell's own namespaces into a lab.
func TestFresh(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(pair[0]); unix.Close(pair[1]) })
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	up := func(names ...string) (out []net.Interface) {
		for _, n := range names {
			out = append(out, net.Interface{Name: n, Flags: net.FlagUp})
		}
		return out
	}
	for _, c := range []struct {
		name  string
		stdin int
		there []net.Interface
		ok    bool
	}{
		{"as Open starts it", pair[0], []net.Interface{{Name: "lo"}, {Name: "sit0"}}, true},
		{"the far end, after the near one", pair[0], up("lo", FarDevice), true},
		{"typed by hand", int(null.Fd()), nil, false},
		{"on a host", pair[0], up("lo", "eth0"), false},
	} {
		if err := fresh(c.stdin, c.there); (err == nil) != c.ok || err != nil && !errors.Is(err, rig.ErrInput) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	cmd := exec.Command(os.Args[0], "agent", "--lab", "near")
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() == 0 || !strings.Contains(string(out), "namespaces of its own") {
		t.Errorf("exit %d: %s", cmd.ProcessState.ExitCode(), out)
	}
}
