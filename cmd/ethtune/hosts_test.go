package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// twoHosts is two network namespaces with a wire between them: 192.0.2.1 where the program is run, 192.0.2.2 at the other.
type twoHosts struct {
	near, far *place
}

func newTwoHosts(t *testing.T) twoHosts {
	near := newPlace(t)
	far := &place{t: t, ns: near.ns + "b", dir: t.TempDir()}
	if err := os.Chmod(far.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	output(t, "ip", "netns", "add", far.ns)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", far.ns).Run() })
	output(t, "ip", "-n", near.ns, "link", "set", "pvb", "netns", far.ns)
	for _, end := range []struct{ ns, dev, v4, v6 string }{
		{near.ns, "pva", "192.0.2.1/24", "fde7:4e::1/64"}, {far.ns, "pvb", "192.0.2.2/24", "fde7:4e::2/64"},
	} {
		output(t, "ip", "-n", end.ns, "addr", "add", end.v4, "dev", end.dev)
		output(t, "ip", "-n", end.ns, "addr", "add", end.v6, "dev", end.dev, "nodad")
		output(t, "ip", "-n", end.ns, "link", "set", end.dev, "up")
		output(t, "ip", "-n", end.ns, "link", "set", "lo", "up")
	}
	return twoHosts{near, far}
}

// serve starts a server at the far end and returns it with its lines, once it serves.
func (h twoHosts) serve(args ...string) (*exec.Cmd, *bufio.Scanner) {
	t := h.near.t
	t.Helper()
	c := h.far.run(append([]string{"serve"}, args...)...)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	})
	s := bufio.NewScanner(out)
	for range 3 { // dialects
		if !s.Scan() || !strings.Contains(s.Text(), "serving") || strings.Contains(s.Text(), "skipped") {
			t.Fatalf("the server says %q", s.Text())
		}
	}
	return c, s
}

// The whole of it: a server at one host, a run with a turned knob at the other, by address and family, and nothing left.
func TestTwoHosts(t *testing.T) {
	h := newTwoHosts(t)
	before, beforeFar := h.near.snapshot(), output(t, "ip", "netns", "exec", h.far.ns, "ethtool", "-k", "pvb")
	_, said := h.serve()
	for _, args := range [][]string{
		{"192.0.2.2", "-t", "4", "--set", "tso=off@1"},
		{"192.0.2.2:5202", "-t", "1", "-u", "-b", "20M", "-R"},
		{"fde7:4e::2", "-t", "1", "--bidir", "-P", "2", "-b", "20M", "-B", "fde7:4e::1"},
		{"[fde7:4e::2]:5202", "-t", "1", "-u", "-b", "20M", "--dialect", "native"},
	} {
		out, err := h.near.run(append([]string{"run", "--json"}, args...)...).Output()
		if err != nil {
			t.Errorf("run %v: %v %s", args, err, stderrOf(err))
			continue
		}
		all := lines(t, out)
		end := ofType(all, "end")
		if len(end) != 1 || ofType(all, "start")[0]["dialect"] != "native" {
			t.Fatalf("run %v: %s", args, out)
		}
		for _, total := range end[0]["totals"].([]any) {
			if m := total.(map[string]any); m["rx_bytes"] == nil || m["rx_bytes"].(float64) < 1e6 {
				t.Errorf("run %v: total %v", args, m)
			}
		}
		for _, m := range ofType(all, "mark") {
			if m["outcome"] != "applied" || m["side"] != "near" {
				t.Errorf("run %v: mark %v", args, m)
			}
		}
		in, left := scan(said), scan(said)
		if !strings.Contains(in, "native") || !strings.Contains(left, "left:") || strings.Contains(left, "reset") {
			t.Errorf("run %v: the server said %q and %q", args, in, left)
		}
	}
	if after := h.near.snapshot(); after != before {
		t.Errorf("the near host was\n%s\nand is\n%s", before, after)
	}
	if after := output(t, "ip", "netns", "exec", h.far.ns, "ethtool", "-k", "pvb"); after != beforeFar {
		t.Error("a setting of the server's host has changed")
	}
}

func scan(s *bufio.Scanner) string {
	s.Scan()
	return s.Text()
}

func stderrOf(err error) string {
	if e, ok := err.(*exec.ExitError); ok {
		return string(e.Stderr)
	}
	return ""
}

// What may cut the link is refused before anything is started, and shown as such in the list of knobs.
func TestRunHostKeepsTheLink(t *testing.T) {
	h := newTwoHosts(t)
	h.serve()
	c := h.near.run("run", "192.0.2.2", "--set", "mtu=1400@0.1", "-t", "1")
	out, _ := c.CombinedOutput()
	if c.ProcessState.ExitCode() != exitPermission || !bytes.Contains(out, []byte("may cut the link")) {
		t.Errorf("exit %d: %s", c.ProcessState.ExitCode(), out)
	}
	out, err := h.near.run("run", "192.0.2.2", "--json", "-t", "0.3").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range ofType(lines(t, out), "start")[0]["knobs"].([]any) {
		if m := k.(map[string]any); m["knob"] == "dev.mtu" && m["fixed"] != "not yet: this may cut the link" {
			t.Errorf("%v", m)
		}
	}
}

func TestNobodyServes(t *testing.T) {
	h := newTwoHosts(t)
	for args, want := range map[string]string{
		"192.0.2.2":                               "refused",
		"192.0.2.2:77":                            "refused",
		"192.0.2.9 --connect-timeout 0.5":         "192.0.2.9",
		"198.51.100.1":                            "route to 198.51.100.1",
		"no.such.host.invalid":                    "no.such.host.invalid",
		"192.0.2.2 --dialect native -B 192.0.2.7": "192.0.2.7",
	} {
		c := h.near.run(append([]string{"run"}, strings.Fields(args)...)...)
		out, _ := c.CombinedOutput()
		if c.ProcessState.ExitCode() != exitPeer || !bytes.Contains(out, []byte(want)) || bytes.Count(out, []byte("\n")) != 1 {
			t.Errorf("run %s: exit %d, %s", args, c.ProcessState.ExitCode(), out)
		}
	}
}

func TestServeRules(t *testing.T) {
	h := newTwoHosts(t)
	key := filepath.Join(h.far.dir, "key")
	if err := os.WriteFile(key, []byte("correct horse\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _ := h.serve("-1", "--key-file", key, "--max-time", "1", "--native", ":7000")
	run := func(args ...string) (int, string) {
		c := h.near.run(append([]string{"run", "192.0.2.2:7000", "--dialect", "native", "-t", "5", "-b", "1M"}, args...)...)
		out, _ := c.CombinedOutput()
		return c.ProcessState.ExitCode(), string(out)
	}
	if code, out := run(); code != exitPeer || !strings.Contains(out, "--key-file") {
		t.Errorf("without the key: exit %d, %s", code, out)
	}
	if code, out := run("--key-file", key); code != exitPeer || !strings.Contains(out, "ends a session after 1s") {
		t.Errorf("longer than a session may take: exit %d, %s", code, out)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("serve -1: %v", err)
	}
	// A port that is taken is skipped, and with none left it is an error.
	h.serve()
	second := h.far.run("serve")
	out, _ := second.CombinedOutput()
	if second.ProcessState.ExitCode() != exitPeer || !bytes.Contains(out, []byte("5202")) || !bytes.Contains(out, []byte(", pid ")) {
		t.Errorf("a second server: exit %d, %s", second.ProcessState.ExitCode(), out)
	}
}
