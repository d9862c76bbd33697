package kernel

import (
	"errors"
	"os"
	"runtime"
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

// inNetns moves the test's thread into a network namespace of its own and opens what it has. The thread stays locked, so
// it ends with the test, and the namespace with it.
func inNetns(t *testing.T) (host, netns *Sysctls) {
	t.Helper()
	runtime.LockOSThread()
	need(t, unix.Unshare(unix.CLONE_NEWNET) == nil, "needs the right to make a network namespace")
	// A thread's /proc/sys/net is that of its namespace.
	host, err1 := OpenHost("/proc")
	netns, err2 := OpenNetns("/proc")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(host.Close(), netns.Close()); err != nil {
			t.Error(err)
		}
	})
	return host, netns
}

// inFile is a sysctl as the calling thread's namespace has it, by another path.
func inFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/net/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

func TestNetnsTurns(t *testing.T) {
	_, netns := inNetns(t)
	for turn, file := range map[string]string{
		"tcp_rmem=4096,8192,16384":             "ipv4/tcp_rmem",
		"tcp_wmem=4096,16384,32K":              "ipv4/tcp_wmem",
		"sack=0":                               "ipv4/tcp_sack",
		"notsent_lowat=131072":                 "ipv4/tcp_notsent_lowat",
		"limit_output_bytes=128K":              "ipv4/tcp_limit_output_bytes",
		"udp_rmem_min=8192":                    "ipv4/udp_rmem_min",
		"ecn=1":                                "ipv4/tcp_ecn",
		"net.ipv4.tcp_congestion_control=reno": "ipv4/tcp_congestion_control",
	} {
		s := setting(turn)
		if err := netns.Write(t.Context(), []knob.Setting{s}); err != nil {
			t.Errorf("%s: %v", turn, err)
		}
		if got := inFile(t, file); got != s.Value {
			t.Errorf("%s: %s has %q", turn, file, got)
		}
		if got := sysctls(t, netns)[knob.Short(s.Knob)]; got.Value != s.Value || got.Fixed != "" {
			t.Errorf("%s: %+v", turn, got)
		}
	}
}

func TestNetnsRefuses(t *testing.T) {
	_, netns := inNetns(t)
	for turn, want := range map[string]string{
		"net.ipv4.tcp_congestion_control=no-such-thing": "no such congestion control; there are ",
		"autocorking=1": "",
	} {
		err := netns.Write(t.Context(), []knob.Setting{setting(turn)})
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", turn, err)
		}
	}
	// The domain would not let this through, and the kernel takes two of its three numbers.
	before := sysctls(t, netns)["tcp_rmem"].Value
	err := netns.Write(t.Context(), []knob.Setting{{Knob: "sysctl.net.ipv4.tcp_rmem", Value: "4096 8192 4k"}})
	if !errors.Is(err, unix.EINVAL) {
		t.Errorf("a suffix: %v", err)
	}
	if after := sysctls(t, netns)["tcp_rmem"].Value; after != before {
		t.Errorf("tcp_rmem was %s and is %s", before, after)
	}
}

func TestHostFromAChildNamespace(t *testing.T) {
	host, _ := inNetns(t)
	got := sysctls(t, host)
	if s := got["backlog"]; s.Value != "" || s.Fixed != hostWide {
		t.Errorf("backlog %+v", s)
	}
	if s := got["rmem_max"]; s.Fixed != hostWide && s.Fixed != readOnly {
		t.Errorf("rmem_max %+v", s)
	}
	for _, turn := range []string{"backlog=5", "rmem_max=1M"} {
		if err := host.Write(t.Context(), []knob.Setting{setting(turn)}); err == nil {
			t.Errorf("%s: no error", turn)
		}
	}
}

// TestNetnsStaysWhereItWasOpened: a goroutine on a thread of another namespace turns the same settings.
func TestNetnsStaysWhereItWasOpened(t *testing.T) {
	_, netns := inNetns(t)
	failed := make(chan error)
	go func() { failed <- netns.Write(t.Context(), []knob.Setting{setting("tcp_wmem=4096,16384,24576")}) }()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	if got := inFile(t, "ipv4/tcp_wmem"); got != "4096 16384 24576" {
		t.Errorf("here tcp_wmem is %s", got)
	}
}

// TestHostTurnsBacklog writes the value that is there and no other.
func TestHostTurnsBacklog(t *testing.T) {
	// Packages are tested side by side, and another turns it too.
	turns, err := os.Open("/proc/sys/net/core/netdev_max_backlog")
	need(t, err == nil, "needs netdev_max_backlog of this machine")
	defer turns.Close()
	if err := unix.Flock(int(turns.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	host, err := OpenHost("/proc")
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	s := sysctls(t, host)["backlog"]
	need(t, s.Fixed == "" && s.Value != "", "needs the right to turn netdev_max_backlog of this machine: "+s.Fixed)
	if err := host.Write(t.Context(), []knob.Setting{{Knob: s.Knob, Value: s.Value}}); err != nil {
		t.Error(err)
	}
	if after := sysctls(t, host)["backlog"]; after.Value != s.Value {
		t.Errorf("backlog was %s and is %s", s.Value, after.Value)
	}
}

// TestOrdinaryUser gives up what root may do on a thread of its own, and only looks.
func TestOrdinaryUser(t *testing.T) {
	need(t, os.Geteuid() == 0, "needs root, to become an ordinary user")
	runtime.LockOSThread()
	const nobody = 65534
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
		t.Fatal(errno)
	}
	for _, open := range []func(string) (*Sysctls, error){OpenHost, OpenNetns} {
		s, err := open("/proc")
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		list, err := s.Read(t.Context())
		if err != nil || len(list) == 0 {
			t.Fatalf("%d of %s, %v", len(list), s.Name(), err)
		}
		for _, st := range list {
			if st.Fixed == "" {
				t.Errorf("%+v", st)
			}
		}
		set := knob.Setting{Knob: list[len(list)-1].Knob, Value: "1"}
		if err := s.Write(t.Context(), []knob.Setting{set}); err == nil || list[len(list)-1].Fixed == knob.NeedsAdmin &&
			(!errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "needs CAP_NET_ADMIN")) {
			t.Errorf("%s: %v", set.Knob, err)
		}
	}
}
