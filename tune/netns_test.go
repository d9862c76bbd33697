package tune

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/tune/knob"
)

// need skips a test whose ground is missing, or fails it where everything is required to be there.
func need(t *testing.T, ok bool, reason string) {
	t.Helper()
	switch {
	case ok:
	case os.Getenv("ETHTUNE_REQUIRE") == "all":
		t.Fatal(reason)
	default:
		t.Skip(reason)
	}
}

// inNetns moves the test's thread into a network namespace of its own with a veth pair in it. The thread stays locked, so
// it ends with the test, and the namespace with it.
func inNetns(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"ip", "ethtool"} {
		_, err := exec.LookPath(tool)
		need(t, err == nil, "needs "+tool+" to look at the kernel by another path")
	}
	runtime.LockOSThread()
	err := unix.Unshare(unix.CLONE_NEWNET)
	need(t, err == nil, "needs the right to make a network namespace")
	run(t, "ip", "link", "add", "etn0", "type", "veth", "peer", "name", "etf0")
}

func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// ethtoolLine is what "ethtool -k" says about one bit: "on", "off [fixed]", "off [requested on]".
func ethtoolLine(t *testing.T, bit string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(bit) + `: (.*)$`).FindStringSubmatch(run(t, "ethtool", "-k", "etn0"))
	if found == nil {
		t.Fatalf("ethtool knows no %s", bit)
	}
	return found[1]
}

func kernelTuner(t *testing.T) *Tuner {
	t.Helper()
	families, closer, err := Kernel("etn0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := closer(); err != nil {
			t.Error(err)
		}
	})
	return New(families...)
}

func TestKernelTurns(t *testing.T) {
	inNetns(t)
	tuner := kernelTuner(t)
	found := run(t, "ethtool", "-k", "etn0") + run(t, "ip", "-d", "link", "show", "etn0")

	if r := apply(t, tuner, set("gro=on"))[0]; r.Outcome != knob.Applied || r.From != "off" {
		t.Errorf("gro: %+v", r)
	}
	if got := ethtoolLine(t, "generic-receive-offload"); got != "on" {
		t.Errorf("ethtool says gro %s", got)
	}

	if r := apply(t, tuner, set("lro=on"))[0]; r.Outcome != knob.Refused || r.Reason != "fixed by driver" {
		t.Errorf("lro: %+v", r)
	}

	r := apply(t, tuner, set("mtu=1"))[0]
	if r.Outcome != knob.Refused || r.Reason != "mtu less than device minimum" || r.Got != "1500" {
		t.Errorf("mtu 1: %+v", r)
	}
	if r := apply(t, tuner, set("mtu=9000"))[0]; r.Outcome != knob.Applied {
		t.Errorf("mtu 9000: %+v", r)
	}
	apply(t, tuner, set("txqlen=77"))
	if out := run(t, "ip", "-d", "link", "show", "etn0"); !strings.Contains(out, "mtu 9000") || !strings.Contains(out, "qlen 77") {
		t.Errorf("ip says %s", out)
	}

	r = apply(t, tuner, set("tx=off"))[0]
	if r.Outcome != knob.Applied || !slices.Contains(r.Also, knob.Change{Knob: "feature.tso", From: "on", To: "off"}) {
		t.Errorf("tx: %+v", r)
	}
	if got := ethtoolLine(t, "tx-tcp-segmentation"); !strings.HasPrefix(got, "off") {
		t.Errorf("ethtool says tx-tcp-segmentation %s", got)
	}
	r = apply(t, tuner, set("tso=on"))[0]
	if r.OK() || !strings.Contains(r.Reason, "tx is off") {
		t.Errorf("tso without tx: %+v", r)
	}
	for _, turn := range []string{"tso=off", "sg=off", "gso=off", "feature.tx-nocache-copy=on"} {
		apply(t, tuner, set(turn))
	}

	results, err := tuner.Undo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now := run(t, "ethtool", "-k", "etn0") + run(t, "ip", "-d", "link", "show", "etn0")
	if now != found {
		t.Errorf("after undo %+v\nfound\n%s\nnow\n%s", results, found, now)
	}
}

func TestKernelGroupTurnsItsBits(t *testing.T) {
	inNetns(t)
	tuner := kernelTuner(t)
	r := apply(t, tuner, set("tso=off"))[0]
	if r.Outcome != knob.Applied || len(r.Also) != 0 {
		t.Errorf("%+v", r)
	}
	for _, s := range states(t, tuner) {
		if slices.Contains(knob.Members("feature.tso"), s.Knob) && s.Value != "off" {
			t.Errorf("%s is still %s", s.Knob, s.Value)
		}
	}
	if got := ethtoolLine(t, "tcp-segmentation-offload"); got != "off" {
		t.Errorf("ethtool says tso %s", got)
	}
	apply(t, tuner, r.Undo...)
	if got := ethtoolLine(t, "tcp-segmentation-offload"); got != "on" {
		t.Errorf("after the undo ethtool says tso %s", got)
	}
}

func TestKernelUndoRestoresRequests(t *testing.T) {
	inNetns(t)
	run(t, "ethtool", "-K", "etn0", "tx", "off") // found with requests beside the values
	found := run(t, "ethtool", "-k", "etn0")
	if !strings.Contains(found, "[requested on]") {
		t.Fatalf("nothing is kept off:\n%s", found)
	}
	tuner := kernelTuner(t)
	apply(t, tuner, plan("tso=off", "tx=on", "tso=on", "sg=off")...)
	if _, err := tuner.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := run(t, "ethtool", "-k", "etn0"); now != found {
		t.Errorf("found\n%s\nnow\n%s", found, now)
	}
}

func TestKernelOfNoInterface(t *testing.T) {
	if _, _, err := Kernel("nosuchif0"); err == nil || !strings.Contains(err.Error(), "nosuchif0") {
		t.Errorf("error %v", err)
	}
}
