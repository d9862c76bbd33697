package host

import (
	"slices"
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
)

func TestParseSoftnet(t *testing.T) {
	placed := func(cpu, processed, dropped, squeezed uint32) softnetRow {
		return softnetRow{cpu, false, processed, dropped, squeezed}
	}
	numbered := []softnetRow{{1, true, 0x8b35a4, 10, 2}, {5, true, 0x8b35a5, 3, 0}}
	for name, c := range map[string]struct {
		text string
		want []softnetRow
	}{
		"P01":         {fixture(t, "P01/softnet_stat"), []softnetRow{placed(0, 0x9d3cbd5e, 2, 0x4d), placed(1, 0xa1f0, 0, 3)}},
		"P02":         {fixture(t, "P02/softnet_stat"), []softnetRow{placed(0, 0x9d3cbd5e, 7, 0x4d)}},
		"P03":         {fixture(t, "P03/softnet_stat"), numbered},
		"not a row":   {"softnet\n\nzz zz zz\n" + fixture(t, "P03/softnet_stat"), numbered},
		"cut":         {fixture(t, "P03/softnet_stat") + "008b35a4 0000", numbered},
		"no rows":     {"", nil},
		"wide number": {"0 1ffffffff 0\n", nil},
	} {
		if got := parseSoftnet(nil, []byte(c.text)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestSoftnetWraps is trap P04: counters of 32 bits, and rows that vanish with their processor.
func TestSoftnetWraps(t *testing.T) {
	dir, write := root(t, "proc/net/softnet_stat", fixture(t, "P04/softnet_stat.0"))
	s := OpenSoftnet(dir)
	defer s.Close()
	for _, step := range []struct {
		what, file string
		want       metric.Softnet
		drops      uint64
	}{
		{"as it was", "P04/softnet_stat.0", metric.Softnet{}, 0},
		{"wrapped", "P04/softnet_stat.1", metric.Softnet{Processed: 0x20, Dropped: 5, Squeezed: 1}, 5},
		{"one offline", "P04/softnet_stat.2", metric.Softnet{Processed: 0x10}, 5},
	} {
		write(fixture(t, step.file))
		if got, drops := s.sums(); got == nil || *got != step.want || drops != step.drops {
			t.Errorf("%s: %+v %d, want %+v %d", step.what, got, drops, step.want, step.drops)
		}
	}
}

func TestSoftnetWithoutNumbersBeginsAnew(t *testing.T) {
	row := "00000100 00000000 00000000\n"
	dir, write := root(t, "proc/net/softnet_stat", "00000900 00000050 00000000\n"+row)
	s := OpenSoftnet(dir)
	defer s.Close()
	write(row) // the first went offline, and the second has its place
	if got, _ := s.sums(); got == nil || *got != (metric.Softnet{}) {
		t.Errorf("%+v", got)
	}
	write("00000105 00000001 00000000\n")
	if got, _ := s.sums(); got == nil || *got != (metric.Softnet{Processed: 5, Dropped: 1}) {
		t.Errorf("%+v", got)
	}
}

func FuzzParseSoftnet(f *testing.F) {
	for _, p := range []string{"P01", "P02", "P03"} {
		f.Add([]byte(fixture(f, p+"/softnet_stat")))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := len(parseSoftnet(nil, b)); n > metric.MaxCPUs {
			t.Fatalf("%d rows", n)
		}
	})
}
