package kernel

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/tune/knob"
)

// fakeProc is a /proc of ordinary files.
func fakeProc(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

var machine = map[string]string{
	"meminfo":                                        "MemTotal:         524288 kB\nMemFree: 1 kB\n",
	"sys/net/core/netdev_max_backlog":                "1000\n",
	"sys/net/core/rmem_max":                          "212992\n",
	"sys/net/core/default_qdisc":                     "pfifo_fast\n",
	"sys/net/ipv4/tcp_rmem":                          "4096\t131072\t6291456\n",
	"sys/net/ipv4/tcp_congestion_control":            "cubic\n",
	"sys/net/ipv4/tcp_available_congestion_control":  "reno cubic bbr\n",
	"sys/net/ipv4/tcp_allowed_congestion_control":    "reno cubic\n",
	"sys/net/ipv4/tcp_limit_output_bytes":            "-1\n",
	"sys/net/ipv4/tcp_timestamps":                    "1\n",
	"sys/net/ipv4/a_sysctl_that_nobody_ever_asks_of": "1\n",
}

// open opens both families of a fake machine, less the files named.
func open(t *testing.T, without ...string) (host, netns *Sysctls, root string) {
	t.Helper()
	files := maps.Clone(machine)
	for _, name := range without {
		delete(files, name)
	}
	root = fakeProc(t, files)
	host, err1 := OpenHost(root)
	netns, err2 := OpenNetns(root)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(host.Close(), netns.Close()); err != nil {
			t.Error(err)
		}
	})
	return host, netns, root
}

func sysctls(t *testing.T, s *Sysctls) map[string]knob.State {
	t.Helper()
	list, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]knob.State)
	for _, st := range list {
		byName[knob.Short(st.Knob)] = st
	}
	return byName
}

func setting(text string) knob.Setting {
	s, err := knob.ParseSetting(text)
	if err != nil {
		panic(err)
	}
	return s
}

func TestSysctlsRead(t *testing.T) {
	host, netns, _ := open(t)
	got := sysctls(t, host)
	if s := got["backlog"]; s.Value != "1000" || s.Fixed != "" || len(got) != 3 {
		t.Errorf("backlog %+v of %d", s, len(got))
	}
	if s := got["default_qdisc"]; s.Value != "pfifo_fast" {
		t.Errorf("qdisc %+v", s)
	}
	got = sysctls(t, netns)
	if s := got["tcp_rmem"]; s.Value != "4096 131072 6291456" || len(got) != 4 {
		t.Errorf("tcp_rmem %+v of %d", s, len(got))
	}
	if s := got[knob.Short(congestion)]; !slices.Equal(s.Offers, []string{"reno", "cubic", "bbr"}) {
		t.Errorf("congestion %+v", s)
	}
	if s := got["timestamps"]; !slices.Equal(s.Offers, []string{"0", "1", "2"}) {
		t.Errorf("timestamps %+v", s)
	}
}

func TestSysctlsOfAChildNamespace(t *testing.T) {
	host, netns, _ := open(t, "sys/net/core/netdev_max_backlog")
	got := sysctls(t, host)
	if s := got["backlog"]; s.Value != "" || s.Fixed != hostWide || len(got) != len(knob.Sysctls(true)) {
		t.Errorf("backlog %+v of %d", s, len(got))
	}
	if s := sysctls(t, netns)[knob.Short(congestion)]; !slices.Equal(s.Offers, []string{"reno", "cubic"}) {
		t.Errorf("congestion %+v", s)
	}
	if err := host.Write(t.Context(), []knob.Setting{setting("backlog=5")}); err == nil || !strings.HasSuffix(err.Error(), hostWide) {
		t.Errorf("write: %v", err)
	}
}

func TestSysctlsWrite(t *testing.T) {
	host, netns, root := open(t)
	if err := host.Write(t.Context(), []knob.Setting{setting("backlog=5"), setting("rmem_max=16M")}); err != nil {
		t.Fatal(err)
	}
	if err := netns.Write(t.Context(), []knob.Setting{setting("tcp_rmem=4096,8192,16384")}); err != nil {
		t.Fatal(err)
	}
	if got := sysctls(t, host); got["backlog"].Value != "5" || got["rmem_max"].Value != "16777216" {
		t.Errorf("%+v", got)
	}
	raw, err := os.ReadFile(filepath.Join(root, "sys/net/ipv4/tcp_rmem"))
	if err != nil || !strings.HasPrefix(string(raw), "4096 8192 16384\n") {
		t.Errorf("%q, %v", raw, err)
	}
	for _, bad := range []knob.Setting{
		{Knob: "sysctl.net.ipv4.a_sysctl_that_nobody_ever_asks_of", Value: "2"},
		{Knob: "sysctl.net.ipv4.tcp_timestamps", Value: "2\n3"},
		{Knob: "sysctl.net.ipv4.tcp_timestamps", Value: ""},
		{Knob: "sysctl.net.ipv4.tcp_timestamps", Value: strings.Repeat("1", 257)},
		{Knob: "sysctl.net.ipv4.tcp_sack", Value: "0"}, // not in this kernel
		{Knob: "sysctl...meminfo", Value: "0"},
	} {
		if err := netns.Write(t.Context(), []knob.Setting{bad}); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
	if s := sysctls(t, netns)["timestamps"]; s.Value != "1" {
		t.Errorf("timestamps %+v", s)
	}
}

// moody is a file that can fail half way, as a vector does.
type moody struct {
	node
	half  string // what a failing write leaves behind
	fails int    // so many writes
	err   error
	wrote []string
}

func (m *moody) write(value string) error {
	m.wrote = append(m.wrote, value)
	if m.fails == 0 {
		return m.node.write(value)
	}
	m.fails--
	if m.half == "" {
		return m.err
	}
	return errors.Join(m.err, m.node.write(m.half))
}

func (s *Sysctls) spoil(name string, m *moody) {
	for i := range s.list {
		if s.list[i].knob == name {
			m.node, s.list[i].node = s.list[i].node, m
		}
	}
}

func TestHalfWrittenVectorIsPutRight(t *testing.T) {
	_, netns, _ := open(t)
	m := &moody{half: "4096 8192 6291456", fails: 1, err: unix.EINVAL}
	netns.spoil("sysctl.net.ipv4.tcp_rmem", m)
	err := netns.Write(t.Context(), []knob.Setting{setting("tcp_rmem=4096,8192,16384")})
	if !errors.Is(err, unix.EINVAL) || err.Error() != "sysctl.net.ipv4.tcp_rmem: write 4096 8192 16384: invalid argument" {
		t.Errorf("error %v", err)
	}
	if s := sysctls(t, netns)["tcp_rmem"]; s.Value != "4096 131072 6291456" || len(m.wrote) != 2 {
		t.Errorf("%+v after %q", s, m.wrote)
	}
	m.fails = 2
	err = netns.Write(t.Context(), []knob.Setting{setting("tcp_rmem=4096,8192,16384")})
	if err == nil || !strings.Contains(err.Error(), "it was left at 4096 8192 6291456") {
		t.Errorf("error %v", err)
	}
}

func TestRefusalsSayWhatIsMissing(t *testing.T) {
	host, netns, _ := open(t)
	netns.spoil(congestion, &moody{fails: 1, err: unix.ENOENT})
	host.spoil(qdisc, &moody{fails: 1, err: unix.ENOENT})
	host.spoil(backlog, &moody{fails: 1, err: unix.EPERM})
	for _, tt := range []struct {
		family *Sysctls
		turn   string
		reason string
		is     error
	}{
		{netns, "net.ipv4.tcp_congestion_control=vegas", "no such file or directory: no such congestion control; there are reno cubic bbr", unix.ENOENT},
		{host, "default_qdisc=cake", "no such file or directory: this kernel has no such qdisc", unix.ENOENT},
		{host, "backlog=5", "operation not permitted: needs CAP_NET_ADMIN", os.ErrPermission},
	} {
		err := tt.family.Write(t.Context(), []knob.Setting{setting(tt.turn)})
		if !errors.Is(err, tt.is) || !strings.HasSuffix(err.Error(), ": "+tt.reason) {
			t.Errorf("%s: %v", tt.turn, err)
		}
	}
}

func TestOddFilesAreRefused(t *testing.T) {
	const rmem = "sys/net/ipv4/tcp_rmem"
	for name, spoil := range map[string]func(path string) error{
		"a link":      func(p string) error { return os.Symlink("../../../meminfo", p) },
		"a directory": func(p string) error { return os.Mkdir(p, 0o755) },
		"a pipe":      func(p string) error { return unix.Mkfifo(p, 0o600) },
		"too long":    func(p string) error { return os.WriteFile(p, make([]byte, maxValue+1), 0o600) },
		"binary":      func(p string) error { return os.WriteFile(p, []byte("\x1b[2J"), 0o600) },
	} {
		root := fakeProc(t, machine)
		path := filepath.Join(root, rmem)
		if err := errors.Join(os.Remove(path), spoil(path)); err != nil {
			t.Fatal(err)
		}
		s, err := OpenNetns(root)
		if err == nil {
			_, err = s.Read(t.Context())
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "tcp_rmem") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCheckIsForTurns: half a gibibyte of memory lets nobody ask for a buffer above 64 MiB, and lets it be put back.
func TestCheckIsForTurns(t *testing.T) {
	host, netns, _ := open(t)
	for turn, want := range map[string]string{
		"tcp_rmem=4096,131072,64M": "",
		"tcp_rmem=4096,131072,65M": "tcp_rmem takes at most 67108864 here, an eighth of this machine's memory, not 68157440",
		"rmem_max=128M":            "rmem_max takes at most 67108864 here, an eighth of this machine's memory, not 134217728",
		"backlog=16777216":         "",
	} {
		family := netns
		if s := setting(turn); s.Side == knob.Host {
			family = host
		}
		if err := family.Check(setting(turn)); (err == nil) != (want == "") || (err != nil && err.Error() != want) {
			t.Errorf("%s: %v", turn, err)
		}
	}
	if err := host.Write(t.Context(), []knob.Setting{{Knob: "sysctl.net.core.rmem_max", Value: "2147483647"}}); err != nil {
		t.Errorf("put back: %v", err)
	}
}

func FuzzFirstLine(f *testing.F) {
	for _, seed := range []string{"4096\t131072\t6291456\n", "1\n2\n", "", "\x00\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		line, err := firstLine(data)
		if err == nil && (strings.ContainsAny(line, "\n\x1b\x00") || strings.TrimSpace(line) != line) {
			t.Errorf("%q", line)
		}
	})
}

func FuzzParseMemTotal(f *testing.F) {
	f.Add("MemTotal:        8123456 kB\nMemFree: 3 kB\n")
	f.Add("MemTotal: 99999999999999999999 kB")
	f.Fuzz(func(t *testing.T, text string) {
		if n := parseMemTotal(text); n < 0 {
			t.Errorf("%q: %d bytes", text, n)
		}
	})
}
