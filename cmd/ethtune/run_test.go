package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// beProgram in the environment makes the test binary the program itself.
const beProgram = "ETHTUNE_TEST_BE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(beProgram) != "" || len(os.Args) > 1 && os.Args[1] == "agent" {
		main()
	}
	os.Exit(m.Run())
}

// patience is how long a test waits for what a busy machine may make late and only a fault keeps away.
const patience = time.Minute

// program is the program as a process of its own, bounded in time.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	t.Cleanup(cancel)
	c := exec.CommandContext(ctx, os.Args[0], args...)
	c.Env = append(os.Environ(), beProgram+"=1")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

// needLab skips where a lab is not permitted, unless nothing may be skipped.
func needLab(t *testing.T) {
	t.Helper()
	out, err := program(t, "run", "lab", "-t", "0.1").CombinedOutput()
	if err == nil {
		return
	}
	if e, ok := err.(*exec.ExitError); ok && e.ExitCode() == exitPermission && os.Getenv("ETHTUNE_REQUIRE") != "all" {
		t.Skipf("the lab is not permitted here: %s", out)
	}
	t.Fatalf("%v: %s", err, out)
}

// lines decodes JSON lines.
func lines(t *testing.T, b []byte) []map[string]any {
	t.Helper()
	var out []map[string]any
	s := bufio.NewScanner(bytes.NewReader(b))
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var m map[string]any
		if err := json.Unmarshal(s.Bytes(), &m); err != nil {
			t.Fatalf("%v: %s", err, s.Text())
		}
		out = append(out, m)
	}
	return out
}

func ofType(all []map[string]any, typ string) []map[string]any {
	var out []map[string]any
	for _, m := range all {
		if m["type"] == typ {
			out = append(out, m)
		}
	}
	return out
}

// having is how many of the lines have the field.
func having(all []map[string]any, field string) (n int) {
	for _, m := range all {
		if _, ok := m[field]; ok {
			n++
		}
	}
	return n
}

// other says whether what is there is not what is wanted. What was not measured is not there.
func other(got any, want string) bool { return got != nil && got != want }

func runJSON(t *testing.T, wantCode int, args ...string) []map[string]any {
	t.Helper()
	var errs bytes.Buffer
	c := program(t, append([]string{"run", "lab", "--json"}, args...)...)
	c.Stderr = &errs
	out, err := c.Output()
	if code := c.ProcessState.ExitCode(); code != wantCode {
		t.Fatalf("%v: exit %d, want %d: %v %s", args, code, wantCode, err, errs.String())
	}
	all := lines(t, out)
	if len(all) < 2 || all[0]["type"] != "start" || all[len(all)-1]["type"] != "end" {
		t.Fatalf("a run begins with start and ends with end: %s", out)
	}
	return all
}

func TestRunTurnsKnobsAndSaysWhatTheyDid(t *testing.T) {
	needLab(t)
	all := runJSON(t, exitOK, "-t", "7", "-i", "0.5", "-C", "reno", "--set", "tso=off@2", "--set", "gso=off@2")
	start := all[0]
	if start["schema"] != 1.0 || start["dialect"] != "native" || start["kernel"] == "" {
		t.Errorf("%v", start)
	}
	if cc := start["congestion"].(map[string]any); cc["near"] != "reno" || cc["far"] != "reno" {
		t.Errorf("congestion %v", cc)
	}
	intervals := ofType(all, "interval")
	for _, f := range []string{"jitter_ms", "loss_pct", "rtt_ms", "tx_bps"} {
		if n := having(intervals, f); n == 0 || n < len(intervals)/2 { // on a busy machine the probe may come late
			t.Errorf("%s in %d of %d intervals under TCP", f, n, len(intervals))
		}
	}
	for _, i := range intervals {
		if other(i["jitter_from"], "probe") || other(i["loss_from"], "probe") || other(i["rtt_from"], "probe") {
			t.Errorf("under TCP the probe measures: %v", i)
		}
	}
	marks := ofType(all, "mark")
	if len(marks) != 2 || marks[0]["knob"] != "feature.tso" || marks[0]["asked"] != "off" || marks[0]["got"] != "off" || marks[0]["outcome"] != "applied" {
		t.Errorf("marks %v", marks)
	}
	end := all[len(all)-1]
	if r := end["restored"].([]any); len(r) != 2 {
		t.Errorf("restored %v", r)
	}
	if v := ofType(all, "verdict"); len(v) != 3 || v[0]["metric"] != "rx_bps" || v[0]["mark"] != 2.0 || v[0]["answer"] == "" {
		t.Errorf("verdicts %v", v)
	}
}

// TestRunShowsTheEffect wants segmentation in the stack's own hands to cost what it costs on any machine. Other work on it
// may hide that once, hardly three times.
func TestRunShowsTheEffect(t *testing.T) {
	needLab(t)
	var ratio float64
	for range 3 {
		all := runJSON(t, exitOK, "-t", "4", "-i", "0.5", "-C", "reno", "--set", "tso=off@2", "--set", "gso=off@2")
		var before, after []float64
		for _, i := range ofType(all, "interval") {
			at := i["t"].(float64)
			rx, ok := i["rx_bps"].(float64)
			switch {
			case !ok: // no report came in time
			case at < 2.1:
				before = append(before, rx)
			case at > 2.9:
				after = append(after, rx)
			}
		}
		slices.Sort(before)
		slices.Sort(after)
		if len(before) == 0 || len(after) == 0 {
			continue
		}
		if ratio = after[len(after)/2] / before[len(before)/2]; ratio <= 0.6 {
			return
		}
	}
	t.Errorf("without TSO and GSO %.2f of the rate is left", ratio)
}

func TestRunDirectionsAndProtocols(t *testing.T) {
	needLab(t)
	for _, c := range []struct {
		args string
		dirs []string
		from string
	}{
		{"-t 1 -R", []string{"in"}, "probe"},
		{"-t 1 --bidir -P 2", []string{"in", "out"}, "probe"},
		{"-t 1 -u -b 20M -l 500", []string{"out"}, "load"},
		{"-t 1 -u -b 20M -R -6", []string{"in"}, "load"},
	} {
		all := runJSON(t, exitOK, strings.Fields(c.args)...)
		if rx := all[len(all)-1]["totals"].([]any)[0].(map[string]any)["rx_bps"].(float64); rx < 1e6 {
			t.Errorf("%s: %v bit/s in all", c.args, rx)
		}
		var dirs []string
		intervals := ofType(all, "interval")
		for _, i := range intervals {
			dirs = append(dirs, i["dir"].(string))
			if other(i["jitter_from"], c.from) || other(i["loss_from"], c.from) {
				t.Errorf("%s: %v", c.args, i)
			}
		}
		if having(intervals, "jitter_from") == 0 || having(intervals, "loss_from") == 0 {
			t.Errorf("%s: neither jitter nor loss in %v", c.args, intervals)
		}
		slices.Sort(dirs)
		if dirs = slices.Compact(dirs); !slices.Equal(dirs, c.dirs) {
			t.Errorf("%s: directions %v, want %v", c.args, dirs, c.dirs)
		}
	}
}

func TestRunPlacesLossAtTheReceiversSocket(t *testing.T) {
	needLab(t)
	all := runJSON(t, exitOK, "-t", "3", "-u", "-b", "800M", "-w", "4K")
	total := all[len(all)-1]["totals"].([]any)[0].(map[string]any)
	at, _ := total["lost_at"].(map[string]any)
	if lost := total["lost"].(float64); lost < 1 || at == nil || at["socket"].(float64) < lost/2 {
		t.Errorf("lost %v at %v", total["lost"], at)
	}
}

func TestRunRefusedKnobIsAMarkAndExit1(t *testing.T) {
	needLab(t)
	all := runJSON(t, exitFailed, "-t", "4", "--set", "lro=on@0.3", "--set", "mtu=1@0.5")
	marks := ofType(all, "mark")
	if len(marks) != 2 || marks[0]["outcome"] != "refused" || marks[0]["reason"] != "fixed by driver" || marks[1]["outcome"] != "refused" {
		t.Errorf("%v", marks)
	}
	if n := len(ofType(all, "interval")); n < 1 {
		t.Error("traffic must go on")
	}
}

func TestRunWithoutTimeForATurnIsExit1(t *testing.T) {
	needLab(t)
	if marks := ofType(runJSON(t, exitFailed, "-n", "1", "--set", "engine.rate=1G@50"), "mark"); len(marks) != 0 {
		t.Errorf("%v", marks)
	}
}

func TestRunTextAndCSV(t *testing.T) {
	needLab(t)
	text, err := program(t, "run", "lab", "-t", "3", "-i", "0.5", "--set", "gro=on@0.4").Output()
	if err != nil || !strings.Contains(string(text), "bit/s") || !strings.Contains(string(text), "mark 1  near:gro off -> on  applied") ||
		!strings.Contains(string(text), "put back  near:gro on -> off") {
		t.Errorf("%v\n%s", err, text)
	}
	table, err := program(t, "run", "lab", "-t", "1", "--csv").Output()
	if rows := strings.Split(strings.TrimSpace(string(table)), "\n"); err != nil || len(rows) < 2 ||
		strings.Count(rows[0], ",") != strings.Count(rows[1], ",") {
		t.Errorf("%v\n%s", err, table)
	}
	plain, err := program(t, "lab", "--plain", "--color", "never", "-P", "0").CombinedOutput()
	if err == nil || strings.Count(string(plain), "\n") != 1 {
		t.Errorf("%v %s", err, plain)
	}
}

// descendants lists the processes that pid started, and theirs.
func descendants(t *testing.T, pid int) []int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	children := make(map[int][]int)
	for _, p := range stats {
		b, err := os.ReadFile(p)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		f := strings.Fields(rest)
		if len(f) < 2 {
			continue
		}
		parent, _ := strconv.Atoi(f[1])
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(p)))
		children[parent] = append(children[parent], child)
	}
	var out []int
	for todo := []int{pid}; len(todo) > 0; todo = todo[1:] {
		out = append(out, children[todo[0]]...)
		todo = append(todo, children[todo[0]]...)
	}
	return out
}

func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z")
}

// waitGone waits until none of the processes is alive. By themselves they see within 5 s that nobody is left.
func waitGone(t *testing.T, pids []int) {
	t.Helper()
	const within = 20 * time.Second
	deadline := time.After(within)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for slices.ContainsFunc(pids, alive) {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("processes %v are alive after %v", pids, within)
		}
	}
}

// TestRunEndsWell ends a run in every way but its own and wants an end line, the right exit code, and nothing left.
func TestRunEndsWell(t *testing.T) {
	needLab(t)
	for _, c := range []struct {
		name string
		end  func(pid int, agents []int) error
		code int // -1: killed, no end line
	}{
		{"interrupt", func(pid int, _ []int) error { return syscall.Kill(-pid, syscall.SIGINT) }, 130},
		{"terminate", func(pid int, _ []int) error { return syscall.Kill(pid, syscall.SIGTERM) }, 143},
		{"hang up", func(pid int, _ []int) error { return syscall.Kill(-pid, syscall.SIGHUP) }, 129},
		{"kill", func(pid int, _ []int) error { return syscall.Kill(pid, syscall.SIGKILL) }, -1},
		{"kill first agent", func(_ int, a []int) error { return syscall.Kill(a[0], syscall.SIGKILL) }, 1},
		{"kill host agent", func(_ int, a []int) error { return syscall.Kill(a[1], syscall.SIGKILL) }, 1},
		{"kill last agent", func(_ int, a []int) error { return syscall.Kill(a[len(a)-1], syscall.SIGKILL) }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := program(t, "run", "lab", "--json", "-t", "0", "-i", "0.2", "--set", "tso=off@0.3")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			r := bufio.NewReaderSize(out, 1<<20)
			var got bytes.Buffer
			for !strings.Contains(got.String(), `"mark"`) {
				line, err := r.ReadString('\n')
				if err != nil {
					t.Fatalf("%v: %s", err, got.String())
				}
				got.WriteString(line)
			}
			agents := descendants(t, cmd.Process.Pid)
			if len(agents) != 3 {
				t.Fatalf("agents %v", agents)
			}
			if err := c.end(cmd.Process.Pid, agents); err != nil {
				t.Fatal(err)
			}
			rest, _ := io.ReadAll(r)
			got.Write(rest)
			cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit %d, want %d", code, c.code)
			}
			if c.code >= 0 {
				all := lines(t, got.Bytes())
				if all[len(all)-1]["type"] != "end" {
					t.Errorf("the last line is %v", all[len(all)-1])
				}
			}
			waitGone(t, agents)
		})
	}
}

func TestKnobCommands(t *testing.T) {
	out, err := program(t, "knob", "list", "-i", "lo", "--json").Output()
	var doc struct {
		Dev   string
		Knobs []struct{ Knob, Value string }
	}
	if err != nil || json.Unmarshal(out, &doc) != nil || doc.Dev != "lo" || len(doc.Knobs) < 20 {
		t.Fatalf("%v %.300s", err, out)
	}
	out, err = program(t, "knob", "get", "mtu", "gro", "-i", "lo").Output()
	if err != nil || !strings.Contains(string(out), "mtu ") || !strings.Contains(string(out), "gro ") {
		t.Errorf("%v %s", err, out)
	}
	out, err = program(t, "knob", "explain", "gro", "backlog").Output()
	if err != nil || !strings.Contains(string(out), "netdev_max_backlog") {
		t.Errorf("%v %s", err, out)
	}
	out, _ = program(t, "knob", "get", "rx-usecs", "-i", "lo").CombinedOutput()
	if !strings.Contains(string(out), "rx-usecs") {
		t.Errorf("%s", out)
	}
}
