package host

import (
	"slices"
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
)

// TestProcessors is trap P33, numbers with holes and a processor that comes, and P37, columns that are not there and iowait
// that steps back.
func TestProcessors(t *testing.T) {
	for trap, want := range map[string][]metric.CPU{
		"P33": {{N: 0, Usr: 60, Idle: 20, Softirq: 20}, {N: 4, Usr: 40, Idle: 60}},
		"P37": {{N: 0, Usr: 29.7, Idle: 70.3}},
	} {
		dir, write := root(t, "proc/stat", fixture(t, trap+"/stat.0"))
		c := openCPUs(dir)
		defer c.close()
		write(fixture(t, trap+"/stat.1"))
		if got := c.read(nil); !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", trap, got, want)
		}
		if got := c.read(nil); len(got) != 0 {
			t.Errorf("%s: shares of no time: %+v", trap, got)
		}
	}
}

func TestAllColumns(t *testing.T) {
	dir, write := root(t, "proc/stat", "cpu0 0 0 0 0 0 0 0 0 0 0\n")
	c := openCPUs(dir)
	defer c.close()
	write("cpu0 10 5 20 25 5 10 15 10 3 0\n")
	want := metric.CPU{N: 0, Usr: 15, Sys: 20, Idle: 30, IRQ: 10, Softirq: 15, Steal: 10}
	if got := c.read(nil); len(got) != 1 || got[0] != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestTogether(t *testing.T) {
	got := together([]metric.CPU{{N: 0, Usr: 100, Processed: 3}, {N: 1, Idle: 100, Processed: 4}})
	if got != (metric.CPU{N: -1, Usr: 50, Idle: 50, Processed: 7}) {
		t.Errorf("%+v", got)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(statText))
	for _, name := range []string{"P33/stat.1", "P37/stat.0"} {
		f.Add([]byte(fixture(f, name)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := len(parseStat(nil, b)); n > metric.MaxCPUs+1 {
			t.Fatalf("%d lines", n)
		}
	})
}
