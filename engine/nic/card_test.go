package nic

import (
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/safchain/ethtool"
)

// The depths go in steps smaller than the frame of the library's ioctl past the stack sizes of 2 to 32 KiB at which a
// stack grows.
const (
	stressCalls  = 42_000
	stressDepths = 700
)

// deeper calls f with n small frames below it.
//
//go:noinline
func deeper(n int, f func()) int {
	var frame [24]byte
	frame[n%len(frame)] = 1
	if n == 0 {
		f()
		return int(frame[0])
	}
	return deeper(n-1, f) + int(frame[n%len(frame)])
}

// TestCardUnderStress makes every kind of call at many depths of the caller's stack while the collector never rests. The
// library alone gives wrong answers then; see heldFrame.
func TestCardUnderStress(t *testing.T) {
	c := inNetns(t)
	want, err := c.Features("etn0")
	if err != nil {
		t.Fatal(err)
	}
	stop, collected := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(collected)
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	var wrong, calls atomic.Int64
	check := func(ok bool) {
		calls.Add(1)
		if !ok {
			wrong.Add(1)
		}
	}
	w := ioctlWay{c.card}
	one := func(i int) {
		switch {
		case i%100 == 0: // a list of names is a mebibyte to the library
			got, err := w.features("etn0")
			check(err == nil && len(got) == len(want))
		case i%100 == 1:
			stats, err := c.Stats("etn0")
			_, ok := stats["peer_ifindex"]
			check(err == nil && ok)
		case i%4 == 2:
			_, err := c.Rings("etn0")
			check(errors.Is(err, errors.ErrUnsupported))
		default:
			d, err := c.DriverInfo("etn0")
			check(err == nil && d.Name == "veth")
		}
	}
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for i := range stressCalls / 2 {
				done := make(chan struct{})
				go func() { // a stack that has not grown yet
					defer close(done)
					deeper(i%stressDepths, func() { one(i) })
				}()
				<-done
			}
		})
	}
	workers.Wait()
	close(stop)
	<-collected
	if wrong.Load() != 0 || calls.Load() < 40_000 {
		t.Errorf("%d of %d calls were wrong", wrong.Load(), calls.Load())
	}
}

func TestClosedCard(t *testing.T) {
	c, err := openCard()
	if err != nil {
		t.Fatal(err)
	}
	c.close()
	c.close()
	if err := c.call(func(*ethtool.Ethtool) error { return nil }); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}

func BenchmarkCard(b *testing.B) {
	c, err := openCard()
	if err != nil {
		b.Fatal(err)
	}
	defer c.close()
	for b.Loop() {
		if err := c.call(func(*ethtool.Ethtool) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
