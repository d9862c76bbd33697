package engine

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
)

// Roles that this test binary takes when it is started again, in a network namespace of its own.
const (
	roleEnv  = "ETHTUNE_TEST_ROLE"
	roleNear = "near" // runs the test named by -test.run
	roleFar  = "far"  // serves until its standard input ends
	roleHold = "hold" // holds its namespace until then
	roleLoad = "load" // carries the load of loadEnv, a Spec

	loadEnv = "ETHTUNE_TEST_LOAD"

	nearIP, farIP = "10.77.0.1", "10.77.0.2"
	port          = "5202"
)

func TestMain(m *testing.M) {
	play(os.Getenv(roleEnv))
	if os.Getenv(roleEnv) != roleFar {
		os.Exit(m.Run())
	}
	// The far end waits for its interface, serves, and says so.
	in := bufio.NewReader(os.Stdin)
	if _, err := in.ReadString('\n'); err != nil {
		os.Exit(1)
	}
	s, err := serveNative(farIP + ":" + port)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("serving")
	_, _ = io.Copy(io.Discard, in)
	if s.Close() != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// inNamespace runs the calling test once more, in a new network namespace, and reports whether this is that run.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv(roleEnv) == roleNear {
		return true
	}
	_, err := exec.LookPath("ip")
	need(t, err == nil, "needs ip of iproute2 to make a veth pair")
	need(t, os.Geteuid() == 0, "needs root for network namespaces")
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), roleEnv+"="+roleNear)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if testing.Verbose() {
		t.Logf("%s", out)
	}
	return false
}

// farEnd is the other namespace, with a server at the other end of a veth pair.
type farEnd struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

// startFar makes the veth pair and the far end. It is over with the test.
func startFar(t *testing.T) *farEnd {
	t.Helper()
	f := &farEnd{cmd: exec.Command(os.Args[0])}
	f.cmd.Env = append(os.Environ(), roleEnv+"="+roleFar)
	f.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	var err error
	if f.in, err = f.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.stop() })
	pid := fmt.Sprint(f.cmd.Process.Pid)
	ip(t, "link add etn0 type veth peer name etf0 netns "+pid)
	ip(t, "addr add "+nearIP+"/24 dev etn0")
	ip(t, "link set etn0 up")
	for _, args := range []string{"addr add " + farIP + "/24 dev etf0", "link set etf0 up", "link set lo up"} {
		run(t, "nsenter", append([]string{"-t", pid, "-n", "ip"}, strings.Fields(args)...)...)
	}
	fmt.Fprintln(f.in)
	if said, err := bufio.NewReader(out).ReadString('\n'); said != "serving\n" {
		t.Fatalf("far end: %q %v", said, err)
	}
	return f
}

func (f *farEnd) stop() {
	_ = f.in.Close()
	_ = f.cmd.Wait()
}

func ip(t *testing.T, args string) {
	t.Helper()
	run(t, "ip", strings.Fields(args)...)
}

func run(t testing.TB, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

func TestVeth(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	startFar(t)
	tour(t, farIP+":"+port)
}

// A receiver whose buffer is too small for what comes loses at its socket, and the Frame says that it was there.
// Datagrams that the path cuts into fragments are told of.
func TestFragmentsAreTold(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	startFar(t)
	r := dial(t, farIP+":"+port)
	r.drive(func(s *metric.Spec) { s.Proto, s.RateBps, s.Size = metric.UDP, 10e6, 1473 })
	r.untilNote("datagrams of 1473 bytes are sent in fragments: the path carries 1472 whole")
}

func TestLossAtSocket(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	startFar(t)
	r := dial(t, farIP+":"+port)
	r.drive(func(s *metric.Spec) { s.Proto, s.Far.RcvBuf = metric.UDP, 2048 })
	f := r.until("loss at the socket", func(f *metric.Frame) bool { return f.LostAt != nil && f.LostAt.Socket.Or(0) > 0 && f.Lost.Or(0) > 0 })
	if f.LossPct.Or(-1) <= 0 || f.LossPct.Or(101) > 100 || f.LostAt.Path.Or(0) < 0 {
		t.Errorf("frame %+v, lost at %+v", f, f.LostAt)
	}
}

// A peer that dies takes the Engine with it, which says why.
func TestPeerGone(t *testing.T) {
	t.Parallel()
	if !inNamespace(t) {
		return
	}
	far := startFar(t)
	r := dial(t, farIP+":"+port)
	r.drive(func(s *metric.Spec) { s.Mode = metric.ModeBoth })
	r.until("traffic", flows)
	if err := far.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	gone(t, r)
}

// A cable that is pulled ends nothing by itself: only silence tells. Once it is plugged in again the same peer can be taken
// up with, and the time goes on.
func TestPeerSilent(t *testing.T) {
	t.Parallel()
	if !inNamespace(t) {
		return
	}
	startFar(t)
	r := dial(t, farIP+":"+port)
	r.drive(func(s *metric.Spec) {})
	r.until("traffic", flows)
	ip(t, "link set etn0 down")
	gone(t, r)
	if _, err := r.Redial(r.ctx); err == nil {
		t.Error("it redials over a cut cable")
	}
	lost := r.Now()
	ip(t, "link set etn0 up")
	back, err := r.Redial(r.ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	if _, err := back.Reopen(r.ctx); err != nil {
		t.Fatal(err)
	}
	if f := r.until("traffic again", flows); f.T-f.Span < lost {
		t.Errorf("frame at %v after %v: %+v", f.T, lost, f)
	}
	if _, err := back.Redial(r.ctx); err == nil {
		t.Error("an engine that has its peer redials")
	}
}

func gone(t *testing.T, r *rigged) {
	t.Helper()
	select {
	case <-r.Done():
	case <-r.ctx.Done():
		t.Fatal("the engine does not notice")
	}
	if r.Err() == nil {
		t.Error("no reason given")
	}
	if _, err := r.Drive(r.ctx, metric.DefaultSpec()); err == nil {
		t.Error("it can still be driven")
	}
	r.untilNote("traffic ended")
}
