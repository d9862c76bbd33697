package tune

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ethtune/ethtune/tune/internal/kernel"
	"github.com/ethtune/ethtune/tune/internal/kernel/kerneltest"
	"github.com/ethtune/ethtune/tune/knob"
)

func TestHere(t *testing.T) {
	inNetns(t)
	etn, err := Here("etn0")
	must(t, err)
	etf, err := Here("etf0")
	must(t, err)
	if !etn.valid() || etn.Driver != "veth" || etn.Dev != "etn0" || etn.Index == etf.Index || etn.NS != etf.NS {
		t.Errorf("%+v\n%+v", etn, etf)
	}
	if back, err := whereIndex(etn.Index); err != nil || back != etn {
		t.Errorf("%+v, %v", back, err)
	}
	if gone, err := whereIndex(9999); err != nil || gone.Index != 0 || gone.NS != etn.NS {
		t.Errorf("%+v, %v", gone, err)
	}
	if _, err := Here("nosuchif0"); err == nil || !strings.Contains(err.Error(), "nosuchif0") {
		t.Errorf("error %v", err)
	}
	other := make(chan Where)
	go func() {
		runtime.LockOSThread() // a thread of the namespace that the test was started in
		w, _ := Here("")
		other <- w
	}()
	if w := <-other; w.NS == etn.NS || w.Boot != etn.Boot {
		t.Errorf("two namespaces are one: %+v %+v", w, etn)
	}
}

// TestRestoreOfTheKernel: sysctls of a namespace and bits of its device, after a crash, from another process's view.
func TestRestoreOfTheKernel(t *testing.T) {
	inNetns(t)
	dir := filepath.Join(t.TempDir(), "state")
	look := func() string {
		return run(t, "ethtool", "-k", "etn0") + run(t, "ip", "-d", "link", "show", "etn0") +
			run(t, "cat", "/proc/sys/net/ipv4/tcp_rmem", "/proc/sys/net/ipv4/tcp_sack")
	}
	found := look()
	j, err := OpenJournal(dir)
	must(t, err)
	defer j.Close()
	s, err := j.Begin(KindSession)
	must(t, err)
	where, err := Here("etn0")
	must(t, err)
	families, release, err := Kernel("etn0")
	must(t, err)
	tuner := NewJournaled(s, where, families...)
	for _, r := range apply(t, tuner, plan("tcp_rmem=4096,8192,16384", "sysctl.net.ipv4.tcp_sack=0", "tx=off", "mtu=9000")...) {
		if r.Outcome != knob.Applied {
			t.Errorf("%+v", r)
		}
	}
	kill(s)
	must(t, release())
	run(t, "ip", "link", "set", "etn0", "name", "lan7")
	again, err := OpenJournal(dir)
	must(t, err)
	defer again.Close()
	results, err := again.Restore(t.Context(), RestoreOptions{}, Open)
	if err != nil || len(results) < 4 {
		t.Errorf("%+v, %v", results, err)
	}
	run(t, "ip", "link", "set", "lan7", "name", "etn0")
	if now := look(); now != found {
		t.Errorf("found\n%s\nnow\n%s", found, now)
	}
}

// BenchmarkTurn compares a turn that is written down with one that is not.
func BenchmarkTurn(b *testing.B) {
	turns := []knob.Setting{{Knob: "feature.rx-gro", Value: "off"}, {Knob: "feature.rx-gro", Value: "on"}}
	families := []Family{kernel.NewDevice(kerneltest.New(), kerneltest.Dev)}
	bench := func(b *testing.B, tuner *Tuner) {
		for i := 0; b.Loop(); i++ {
			if _, err := tuner.Apply(b.Context(), turns[i%2:i%2+1]); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("plain", func(b *testing.B) { bench(b, New(families...)) })
	b.Run("journaled", func(b *testing.B) {
		j, err := OpenJournal(filepath.Join(b.TempDir(), "state"))
		if err != nil {
			b.Fatal(err)
		}
		defer j.Close()
		s, err := j.Begin(KindSession)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		where := Where{Boot: "00000000-0000-4000-8000-000000000001", NS: "cookie-7", Index: 2, Dev: kerneltest.Dev}
		bench(b, NewJournaled(s, where, families...))
	})
}
