package host

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
)

// processLine is /proc/PID/stat of a process that has used utime and stime.
func processLine(pid int, comm string, utime, stime, start uint64) string {
	return fmt.Sprintf("%d (%s) S 1 2 3 0 -1 4194560 10 0 0 0 %d %d 0 0 20 0 4 0 %d 12345 678 18446744073709551615\n",
		pid, comm, utime, stime, start)
}

func TestTop(t *testing.T) {
	dir := t.TempDir()
	put := func(pid int, text string) {
		t.Helper()
		d := filepath.Join(dir, "proc", fmt.Sprint(pid))
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "stat"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put(1, processLine(1, "init", 500, 500, 1))
	put(20, processLine(20, "iperf3", 100, 100, 50))
	put(21, processLine(21, "tmux: server) S", 0, 0, 60)) // its name ends as the column of the name does
	put(22, processLine(22, "a b", 900, 0, 70))
	if err := os.MkdirAll(filepath.Join(dir, "proc/self"), 0o755); err != nil {
		t.Fatal(err)
	}
	top := openTop(dir)
	defer top.close()
	if got := top.read(1); len(got) != 0 {
		t.Errorf("nobody ran: %+v", got)
	}
	put(1, processLine(1, "init", 501, 500, 1))
	put(20, processLine(20, "iperf3", 200, 150, 50))
	put(21, processLine(21, "tmux: server) S", 10, 10, 60))
	put(22, processLine(22, "b", 40, 0, 999)) // another that has the number of one that ended
	put(30, processLine(30, "new", 0, 2, 1000))
	want := []metric.Process{{Name: "iperf3", PID: 20, Pct: 75}, {Name: "b", PID: 22, Pct: 20},
		{Name: "tmux: server) S", PID: 21, Pct: 10}}
	if got := top.read(2); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestTopOfThisHost(t *testing.T) {
	top := openTop(Root)
	defer top.close()
	if _, there := top.last[os.Getpid()]; !there {
		t.Errorf("this process is none of %d", len(top.last))
	}
}

func FuzzParseProcess(f *testing.F) {
	f.Add([]byte(processLine(21, "tmux: server) S", 1, 2, 3)))
	f.Add([]byte("1 (x"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if comm, _, ok := parseProcess(b); ok && len(comm) > len(b) {
			t.Fatal("a name out of nothing")
		}
	})
}
