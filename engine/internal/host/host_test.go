package host

import (
	"os"
	"path/filepath"
	"testing"
)

const statText = "cpu  100 5 20 800 10 0 5 60 7 0\ncpu0 50 5 10 400 5 0 5 30 7 0\nintr 12345 0 9\n"

// fixture is a file as some kernel writes it, by the trap that it is.
func fixture(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

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
	stat := open("/proc/stat", maxFile)
	defer stat.close()
	if text, ok := stat.read(); !ok {
		t.Error("no stat")
	} else if len(parseStat(nil, text)) < 2 {
		t.Errorf("stat: %.80q", text)
	}
	if n, ok := ProcessCPU(); !ok || n <= 0 {
		t.Errorf("own CPU %d %v", n, ok)
	}
}
