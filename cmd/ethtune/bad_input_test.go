package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestBadInput wants one line that says what, exit code 2, and nothing started.
func TestBadInput(t *testing.T) {
	for _, c := range []struct {
		args string
		want string // part of the line
	}{
		{"", "ethtune lab"},
		{"-s", "ethtune serve"},
		{"-c 10.0.0.1", "ethtune run HOST"},
		{"lba", "lba"},
		{"run", "ethtune run lab"},
		{"run a/b", "no host"},
		{"run 127.0.0.1:x", "1 to 65535"},
		{"run 127.0.0.1 -p 70000", "-p 70000"},
		{"run 127.0.0.1 -B here", "-B"},
		{"run 127.0.0.1 -I nosuchif0", "nosuchif0"},
		{"run 127.0.0.1 --dialect iperf9", "iperf9"},
		{"run 127.0.0.1 --key-file /nonexistent", "--key-file"},
		{"run 127.0.0.1 --set far:gro=on@1", "no agent"},
		{"run lab -p 5201", "--port"},
		{"run lab -n 1M -t 3", "-n and -t"},
		{"run lab -u -N", "TCP options"},
		{"run lab -S 256", "-S"},
		{"run lab -M 7", "mss 7"},
		{"run lab -A 1,2,3", "-A"},
		{"run lab -A x", "affinity"},
		{"tune", "ethtune tune HOST"},
		{"serve x", "x"},
		{"serve --native= --iperf2= --iperf3=", "nothing to serve"},
		{"serve --native 5202x", "--native"},
		{"serve --max-sessions 0", "--max-sessions"},
		{"run lab extra", "ethtune run lab"},
		{"run lab --set nonsense=on@1", "nonsense"},
		{"run lab --set gro=7@1", "on or off"},
		{"run lab --set rx=256@1", "ring.rx=256"},
		{"run lab --set gro=off", "@SECONDS"},
		{"run lab --set gro=off@x", "time"},
		{"run lab --set gro=off@-1", "negative"},
		{"run lab -t 5 --set gro=off@5", "ends at 5s"},
		{"run lab -t 5 --set gro=off@9", "ends at 5s"},
		{"run lab --set tcp_rmem=4096,131072,4k@1", "MIN <= DEFAULT <= MAX"},
		{"run lab --set tcp_rmem=4096,131072@1", "three numbers"},
		{"run lab --set backlog=-1@1", "backlog"},
		{"run lab --set backlog=99999999999@1", "16777216"},
		{"run lab --set mtu=abc@1", "number"},
		{"run lab --set near:socket.sndbuf=99999999999999999999@1", "sndbuf"},
		{"run lab -b -5", "-b"},
		{"run lab -b five", "-b"},
		{"run lab -u -l 70000", "70000"},
		{"run lab -u -l 4", "size 4"},
		{"run lab -l 0", "-l 0"},
		{"run lab -P 0", "streams 0"},
		{"run lab -P 1000", "streams 1000"},
		{"run lab -P x", "-P"},
		{"run lab -t x", "-t"},
		{"run lab -t -3", "-t"},
		{"run lab -t NaN", "-t"},
		{"run lab -i 0", "-i"},
		{"run lab -w 1", "-w 1 bytes"},
		{"run lab -w 1000G", "-w 1073741824000 bytes"},
		{"run lab -C averyveryverylongname", "15 characters"},
		{"run lab -u -C cubic", "TCP"},
		{"run lab -R --bidir", "exclude"},
		{"run lab --json --csv", "exclude"},
		{"run lab -4 -6", "exclude"},
		{"run lab --probe -1", "probe"},
		{"run lab --nonsense", "nonsense"},
		{"lab --nonsense", "nonsense"},
		{"lab x", "x"},
		{"lab -P 0", "streams 0"},
		{"lab --glyphs emoji", "glyphs"},
		{"lab --color blue", "color"},
		{"knob", "knob list"},
		{"knob frobnicate", "frobnicate"},
		{"knob get", "needs a knob"},
		{"knob get grp -i lo", "gro"},
		{"knob get rate -i lo", "running load"},
		{"knob set", "needs a knob"},
		{"knob set gro", "gro"},
		{"knob set far:gro=on", "far end"},
		{"knob set rate=5", "running load"},
		{"knob set tcp_rmem=9,5,7", "MIN <= DEFAULT <= MAX"},
		{"knob set gro=on -i nosuchif0", "nosuchif0"},
		{"knob restore nonsense", "nonsense"},
		{"knob list -i nosuchif0", "nosuchif0"},
		{"knob explain nonsense", "nonsense"},
		{"version x", "x"},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), strings.Fields(c.args), &out, &errs)
		line := errs.String()
		if code != exitUsage || strings.Count(line, "\n") != 1 || !strings.Contains(line, c.want) || out.Len() > 0 {
			t.Errorf("ethtune %s: exit %d, %q, printed %q; want exit 2 and one line with %q", c.args, code, line, out.String(), c.want)
		}
	}
}

func TestNumberFlag(t *testing.T) {
	for _, c := range []struct {
		base int64
		in   string
		want int64 // -1 = refused
	}{
		{1000, "800M", 800e6}, {1000, "1.5G", 15e8}, {1000, "0", 0}, {1000, "1Gi", 1 << 30}, {1000, "100k", 1e5},
		{1024, "4K", 4096}, {1024, "1M", 1 << 20}, {1024, "2Mi", 2 << 20}, {1024, "77", 77},
		{1000, "", -1}, {1000, "M", -1}, {1000, "-5", -1}, {1000, "5i", -1}, {1000, "NaN", -1}, {1000, "0x10", -1},
		{1000, "1e3", -1}, {1000, "Inf", -1}, {1000, "99999999T", -1}, {1000, "1MM", -1}, {1000, "1 M", -1},
	} {
		n := number{base: c.base}
		err := n.Set(c.in)
		if c.want < 0 && err == nil || c.want >= 0 && (err != nil || n.v != c.want) {
			t.Errorf("%q by %d: %d %v, want %d", c.in, c.base, n.v, err, c.want)
		}
	}
}

func FuzzParseTurns(f *testing.F) {
	f.Add("gro=off@3")
	f.Add("far:mtu=9000@1m")
	f.Add("@@=")
	f.Fuzz(func(t *testing.T, s string) {
		turns, err := parseTurns([]string{s}, 0)
		if (err == nil) != (len(turns) == 1) {
			t.Errorf("%q: %v %v", s, turns, err)
		}
		if err != nil && strings.Contains(oneLine(err), "\n") {
			t.Errorf("%q: more than a line: %v", s, err)
		}
	})
}
