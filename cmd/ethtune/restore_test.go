package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/tune/knob"
)

// needRoot skips where the kernel's own settings cannot be turned, unless nothing may be skipped.
func needRoot(t *testing.T, programs ...string) {
	t.Helper()
	why := ""
	if os.Geteuid() != 0 {
		why = "needs root"
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			why = "needs " + p
		}
	}
	if why == "" {
		return
	}
	if os.Getenv("ETHTUNE_REQUIRE") == "all" && os.Geteuid() == 0 {
		t.Fatal(why)
	}
	t.Skip(why)
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v %s", name, args, err, out)
	}
	return string(out)
}

// place is a named network namespace with a veth pair of its own, and a journal of its own.
type place struct {
	t    *testing.T
	ns   string
	dir  string
	prog []string // what runs a program there
}

func newPlace(t *testing.T) *place {
	needRoot(t, "ip", "ethtool")
	p := &place{t: t, ns: fmt.Sprintf("etest%d", os.Getpid()), dir: t.TempDir()}
	output(t, "ip", "netns", "add", p.ns)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", p.ns).Run() })
	output(t, "ip", "-n", p.ns, "link", "add", "pva", "type", "veth", "peer", "name", "pvb")
	output(t, "ip", "-n", p.ns, "link", "set", "pva", "up")
	if err := os.Chmod(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return p
}

// run is the program in the namespace.
func (p *place) run(args ...string) *exec.Cmd {
	c := program(p.t, args...)
	c.Path, _ = exec.LookPath("ip")
	c.Args = append([]string{"ip", "netns", "exec", p.ns, os.Args[0]}, args...)
	c.Env = append(c.Env, "ETHTUNE_STATE_DIR="+p.dir)
	return c
}

// snapshot is everything as other programs see it, requested feature bits included.
func (p *place) snapshot() string {
	p.t.Helper()
	link := output(p.t, "ip", "-n", p.ns, "-d", "link", "show", "pva")
	return output(p.t, "ip", "netns", "exec", p.ns, "ethtool", "-k", "pva") + link +
		output(p.t, "ip", "netns", "exec", p.ns, "sh", "-c", "cd /proc/sys/net/ipv4 && grep -H . tcp_rmem tcp_wmem tcp_sack tcp_timestamps tcp_window_scaling tcp_congestion_control tcp_notsent_lowat")
}

func (p *place) restore() {
	p.t.Helper()
	if out, err := p.run("knob", "restore").CombinedOutput(); err != nil {
		p.t.Fatalf("restore: %v %s", err, out)
	}
}

// said reports whether a line of out has these columns and no others.
func said(out []byte, columns ...string) bool {
	want := strings.Fields(strings.Join(columns, " "))
	for line := range strings.Lines(string(out)) {
		if slices.Equal(strings.Fields(line), want) {
			return true
		}
	}
	return false
}

func TestKnobSetIsKeptAndRestored(t *testing.T) {
	p := newPlace(t)
	before := p.snapshot()
	out, err := p.run("knob", "set", "-i", "pva", "tso=off", "tcp_rmem=4096,8192,16K", "sack=0").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "tso") || strings.Count(string(out), "applied") != 3 {
		t.Fatalf("%v %s", err, out)
	}
	if p.snapshot() == before {
		t.Fatal("nothing was turned")
	}
	list, err := p.run("knob", "list", "-i", "pva").Output()
	if err != nil || !strings.Contains(string(list), "kept since") {
		t.Errorf("%v: the list does not say who turned them:\n%s", err, list)
	}
	dry, err := p.run("knob", "restore", "--dry-run").Output()
	if err != nil || p.snapshot() == before || !said(dry, "tso", "pva", "off -> on", "would be put back") ||
		!said(dry, "sack", "-", "0 -> 1", "would be put back") {
		t.Errorf("dry run: %v %s", err, dry)
	}
	// Somebody else's value is left, and said so.
	output(t, "ip", "netns", "exec", p.ns, "sh", "-c", "echo '4096 9000 20000' > /proc/sys/net/ipv4/tcp_rmem")
	c := p.run("knob", "restore")
	out, _ = c.CombinedOutput()
	if c.ProcessState.ExitCode() != exitRestore || !strings.Contains(string(out), "tcp_rmem") {
		t.Errorf("exit %d: %s", c.ProcessState.ExitCode(), out)
	}
	if !said(out, "tso", "pva", "off -> on", "put back") {
		t.Errorf("it does not say of which interface a knob was put back: %s", out)
	}
	if out, err := p.run("knob", "restore", "--force").CombinedOutput(); err != nil {
		t.Errorf("%v %s", err, out)
	}
	if after := p.snapshot(); after != before {
		t.Errorf("after restore:\n%s\nbefore:\n%s", after, before)
	}
}

// TestWhateverIsKilledAllComesBack turns knobs at random, kills the program, its agent or both at a random time, and wants
// a restore to bring back everything.
func TestWhateverIsKilledAllComesBack(t *testing.T) {
	p := newPlace(t)
	before := p.snapshot()
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	settings := []string{"gro=on", "tso=off", "gso=off", "sack=0", "timestamps=0", "window_scaling=0",
		"tcp_rmem=4096,8192,16384", "tcp_wmem=4096,16384,65536", "tcp_congestion_control=reno", "notsent_lowat=131072"}
	plans := 20
	if testing.Short() {
		plans = 5
	}
	for i := range plans {
		rng.Shuffle(len(settings), func(a, b int) { settings[a], settings[b] = settings[b], settings[a] })
		some := settings[:1+rng.IntN(4)]
		var c *exec.Cmd
		if i%2 == 0 {
			c = p.run(append([]string{"knob", "set", "-i", "pva"}, some...)...)
		} else {
			c = p.run("agent", "--dev", "pva", "--journal", "session")
			in, err := c.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			go in.Write(asks(t, some))
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Duration(rng.Int64N(int64(80 * time.Millisecond))))
		freeze(t, c.Process.Pid) // it starts no agent between the look and its end
		agents := descendants(t, c.Process.Pid)
		kill := rng.IntN(3)
		if kill != 1 || i%2 == 1 {
			_ = c.Process.Kill()
		}
		_ = c.Process.Signal(syscall.SIGCONT)
		if kill != 0 {
			for _, a := range agents {
				_ = syscall.Kill(a, syscall.SIGKILL)
			}
		}
		_ = c.Wait()
		waitGone(t, agents)
		p.restore()
		if after := p.snapshot(); after != before {
			t.Fatalf("plan %d %v, kill %d: not all is back:\n%s\nbefore:\n%s", i, some, kill, after, before)
		}
	}
}

// freeze stops a child of this process where it is, unless it has ended.
func freeze(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
}

// asks is settings as an agent is asked for them.
func asks(t *testing.T, settings []string) []byte {
	var b bytes.Buffer
	for i, s := range settings {
		set, err := knob.ParseSetting(s)
		if err != nil {
			t.Error(err)
			continue
		}
		set.Side = ""
		args, err := json.Marshal(knob.Plan{set})
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(&b, `{"type":"ask","id":%d,"method":"apply","args":%s}`+"\n", i+1, args)
	}
	return b.Bytes()
}

// TestTwoRunsThatTurnTheBacklog turn the same knob of the whole host. Whoever ends last, and however, the first value is
// back.
func TestTwoRunsThatTurnTheBacklog(t *testing.T) {
	needRoot(t)
	needLab(t)
	const file = "/proc/sys/net/core/netdev_max_backlog"
	// Packages are tested side by side, and another turns it too.
	turns, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer turns.Close()
	if err := syscall.Flock(int(turns.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	read := func() string {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(b))
	}
	first := read()
	defer func() { _ = os.WriteFile(file, []byte(first), 0o644) }()
	for _, c := range []struct {
		name string
		ends [2]int // which of the two ends first, then the other
		sig  [2]syscall.Signal
	}{
		{"in order", [2]int{0, 1}, [2]syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}},
		{"in reverse", [2]int{1, 0}, [2]syscall.Signal{syscall.SIGINT, syscall.SIGHUP}},
		{"first killed", [2]int{0, 1}, [2]syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}},
		{"last killed", [2]int{0, 1}, [2]syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}},
		{"both killed", [2]int{1, 0}, [2]syscall.Signal{syscall.SIGKILL, syscall.SIGKILL}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			var runs [2]*exec.Cmd
			var agents [2][]int
			for i, value := range []string{"990", "980"} {
				r := program(t, "run", "lab", "--json", "-b", "1M", "-t", "0", "--set", "backlog="+value+"@0.1")
				r.Env = append(r.Env, "ETHTUNE_STATE_DIR="+dir)
				if err := r.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = r.Process.Kill(); _ = r.Wait() })
				waitValue(t, read, value)
				runs[i], agents[i] = r, descendants(t, r.Process.Pid)
			}
			for n, i := range c.ends {
				pids := agents[i]
				if c.sig[n] == syscall.SIGKILL {
					for _, a := range pids {
						_ = syscall.Kill(a, syscall.SIGKILL)
					}
				}
				_ = runs[i].Process.Signal(c.sig[n])
				_ = runs[i].Wait()
				waitGone(t, pids)
			}
			restore := program(t, "knob", "restore")
			restore.Env = append(restore.Env, "ETHTUNE_STATE_DIR="+dir)
			if out, err := restore.CombinedOutput(); err != nil {
				t.Errorf("restore: %v %s", err, out)
			}
			if now := read(); now != first {
				t.Errorf("the backlog is %s and was %s", now, first)
			}
		})
	}
}

func waitValue(t *testing.T, read func() string, want string) {
	t.Helper()
	late := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for read() != want {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("it never became %s, it is %s", want, read())
		}
	}
}
