package host

import (
	"os"
	"path/filepath"
	"testing"
)

// Rows as kernels of three ages write them.
const (
	softnetOld  = "9d3cbd5e 00000000 0000004d 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n"
	softnet313  = "9d3cbd5e 00000007 0000004d 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n"
	softnet618  = "008b35a4 0000000a 00000000 00000000 00000000 00000000 00000000 00000000 00000000 000196ae 00000000 00000000 00000001 00000000 00000000\n"
	softnet618b = "008b35a4 00000003 00000000 00000000 00000000 00000000 00000000 00000000 00000000 000196ae 00000000 00000000 00000005 00000000 00000000\n"

	statText = "cpu  100 5 20 800 10 0 5 60 7 0\ncpu0 50 5 10 400 5 0 5 30 7 0\nintr 12345 0 9\n"
)

// root is a folder with one of the kernel's files in it, and a way to rewrite that.
func root(t *testing.T, name, text string) (string, func(string)) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	write := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	return dir, write
}

func TestParseSoftnet(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []softnetRow
	}{
		"10 columns":  {softnetOld, []softnetRow{{0, 0}}},
		"11 columns":  {softnetOld + softnet313, []softnetRow{{0, 0}, {1, 7}}},
		"15 columns":  {softnet618 + softnet618b, []softnetRow{{1, 10}, {5, 3}}},
		"not a row":   {"softnet\n\nzz zz\n" + softnet618, []softnetRow{{1, 10}}},
		"cut":         {softnet618 + "008b35a4 0000", []softnetRow{{1, 10}, {1, 0}}},
		"no rows":     {"", nil},
		"wide number": {"0 1ffffffff 0\n", nil},
	} {
		got := parseSoftnet([]byte(c.text))
		if len(got) != len(c.want) {
			t.Errorf("%s: %v", name, got)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
	}
}

func TestSoftnetSum(t *testing.T) {
	row := func(dropped, cpu string) string {
		return "0 " + dropped + " 0 0 0 0 0 0 0 0 0 0 " + cpu + " 0 0\n"
	}
	dir, write := root(t, "proc/net/softnet_stat", row("fffffffe", "0")+row("10", "1"))
	s := OpenSoftnet(dir)
	defer s.Close()
	for _, step := range []struct {
		what, text string
		want       uint64
	}{
		{"as it was", row("fffffffe", "0") + row("10", "1"), 0},
		{"wrapped", row("00000003", "0") + row("10", "1"), 5},
		{"one offline", row("10", "1"), 5},
		{"another online", row("10", "1") + row("100", "2"), 5},
		{"back online", row("4", "0") + row("10", "1") + row("102", "2"), 8},
	} {
		write(step.text)
		if n, ok := s.Dropped(); !ok || n != step.want {
			t.Errorf("%s: %d %v, want %d", step.what, n, ok, step.want)
		}
	}
}

func TestBusyShare(t *testing.T) {
	dir, write := root(t, "proc/stat", statText)
	b := OpenBusy(dir)
	defer b.Close()
	if v := b.Share(); !v.IsZero() {
		t.Errorf("no time passed: %v", v)
	}
	write("cpu  130 5 20 860 20 0 5 60 7 0\n") // 30 busy, 70 idle
	if v := b.Share().Or(-1); v < 29.99 || v > 30.01 {
		t.Errorf("share %v", v)
	}
	write("cpu  140 5 20 860 19 0 5 60 7 0\n") // iowait stepped back
	if v := b.Share().Or(-1); v != 100 {
		t.Errorf("share %v", v)
	}
}

func TestAbsent(t *testing.T) {
	s, b := OpenSoftnet(t.TempDir()), OpenBusy(t.TempDir())
	if _, ok := s.Dropped(); ok {
		t.Error("drops out of nothing")
	}
	if !b.Share().IsZero() {
		t.Error("a share out of nothing")
	}
	s.Close()
	b.Close()
}

func TestThisKernel(t *testing.T) {
	s := OpenSoftnet(Root)
	defer s.Close()
	if _, ok := s.Dropped(); !ok {
		t.Error("no softnet_stat")
	}
	stat := open("/proc/stat")
	defer stat.close()
	if text, ok := stat.read(); !ok {
		t.Error("no stat")
	} else if _, ok := parseStat(text); !ok {
		t.Errorf("stat: %.80q", text)
	}
	if n, ok := ProcessCPU(); !ok || n <= 0 {
		t.Errorf("own CPU %d %v", n, ok)
	}
}

func FuzzParseSoftnet(f *testing.F) {
	f.Add([]byte(softnetOld + softnet618))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := len(parseSoftnet(b)); n > maxCPUs {
			t.Fatalf("%d rows", n)
		}
	})
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(statText))
	f.Fuzz(func(t *testing.T, b []byte) { parseStat(b) })
}

func BenchmarkSoftnet(b *testing.B) {
	s := OpenSoftnet(Root)
	defer s.Close()
	b.ReportAllocs()
	for b.Loop() {
		s.Dropped()
	}
}
