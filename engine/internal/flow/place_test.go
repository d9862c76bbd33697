package flow

import (
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// firstAllowed and lastAllowed are processors of this machine, the same where there is only one.
func firstAllowed(t *testing.T) (first, last int) {
	t.Helper()
	first = -1
	for n := range metric.MaxCPUs {
		if allowed.IsSet(n) {
			if last = n; first < 0 {
				first = n
			}
		}
	}
	if first < 0 {
		t.Fatal("no processor is allowed")
	}
	return first, last
}

// A thread runs where it is placed, goes where it is placed while it runs, and comes back as it was.
func TestPlace(t *testing.T) {
	first, last := firstAllowed(t)
	a, b := udpPair(t)
	tx, rx := NewUDPSender(a, load34(500, 1e6)), NewUDPReceiver(b, load34(500, 0))
	if err := tx.Place(strconv.Itoa(last)); err != nil {
		t.Fatal(err)
	}
	if _, ok := tx.CPU(); ok {
		t.Error("it runs before it is started")
	}
	rx.Start()
	tx.Start()
	on := func(n int) func() bool {
		return func() bool { got, ok := tx.CPU(); return ok && got == n }
	}
	wait(t, "ran on the last processor", on(last))
	if err := tx.Place(strconv.Itoa(first)); err != nil {
		t.Fatal(err)
	}
	wait(t, "ran on the first processor", on(first))
	if err := tx.Place(""); err != nil {
		t.Fatal(err)
	}
	tx.spot.Lock()
	set := unix.NewCPUSet(metric.MaxCPUs)
	err := unix.SchedGetaffinityDynamic(tx.tid, set)
	tx.spot.Unlock()
	if err != nil || set.Count() != allowed.Count() {
		t.Errorf("free again it may run on %d processors of %d: %v", set.Count(), allowed.Count(), err)
	}
	if err := errors.Join(tx.Place(strconv.Itoa(first)), tx.Close(), rx.Close()); err != nil {
		t.Error(err)
	}
}

// The thread that carried a stream is given back to the runtime with the processors it had.
func TestDepartRestores(t *testing.T) {
	first, _ := firstAllowed(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var p place
	if err := errors.Join(p.Place(strconv.Itoa(first)), p.arrive()); err != nil {
		t.Fatal(err)
	}
	if set, err := affinity(); err != nil || set.Count() != 1 {
		t.Errorf("placed on %d processors: %v", set.Count(), err)
	}
	p.depart()
	if set, err := affinity(); err != nil || set.Count() != allowed.Count() {
		t.Errorf("it came back with %d processors: %v", set.Count(), err)
	}
}

func TestCheckCPUs(t *testing.T) {
	first, _ := firstAllowed(t)
	if err := CheckCPUs(strconv.Itoa(first)); err != nil {
		t.Error(err)
	}
	if err := CheckCPUs(""); err != nil {
		t.Error(err)
	}
	for _, list := range []string{strconv.Itoa(first) + ",8191", "x", "2-1"} {
		if err := CheckCPUs(list); err == nil {
			t.Errorf("%q is accepted", list)
		}
	}
	if err := CheckCPUs("8191"); err == nil || !strings.Contains(err.Error(), "processor 8191") {
		t.Error(err)
	}
}

func FuzzLastCPU(f *testing.F) {
	tail := strings.Repeat(" 0", 35)
	f.Add([]byte("12 (a ) b) S" + tail + " 7 0 0"))
	f.Add([]byte("12 (x) R"))
	f.Add([]byte(""))
	f.Fuzz(func(t *testing.T, stat []byte) {
		if n, ok := lastCPU(stat); ok && (n < 0 || n >= metric.MaxCPUs) {
			t.Errorf("processor %d", n)
		}
	})
	if n, ok := lastCPU([]byte("12 (a ) b) S" + tail + " 7 0 0")); !ok || n != 7 {
		f.Errorf("%d %v", n, ok)
	}
}

// BenchmarkCPU is what the screen's reader pays for one stream at each tick.
func BenchmarkCPU(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var p place
	if err := p.arrive(); err != nil {
		b.Fatal(err)
	}
	defer p.depart()
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := p.CPU(); !ok {
			b.Fatal("unknown")
		}
	}
}
