package tui

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethtune/ethtune/tui/term"
)

// gate is a terminal that takes bytes only while it is open.
type gate chan struct{}

func (g gate) Write(p []byte) (int, error) {
	<-g
	return len(p), nil
}

// The dead man is told once each time the terminal takes nothing for long enough, and once when it does again.
func TestStuckIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		g := make(gate)
		w := term.NewWriter(g, 0, 0, nil)
		var calls atomic.Int32
		go watchStuck(ctx, w, func(stuck bool) {
			if n := calls.Add(1); stuck != (n%2 == 1) {
				t.Errorf("call %d says stuck is %v", n, stuck)
			}
		})

		write := func() { _, _ = w.Write([]byte("x")) }
		after := func(d time.Duration, want int32) {
			t.Helper()
			<-time.After(d)
			synctest.Wait()
			if got := calls.Load(); got != want {
				t.Errorf("told %d times, want %d", got, want)
			}
		}
		go write()
		after(4*time.Second, 0)
		after(3*time.Second, 1)
		after(20*time.Second, 1)
		g <- struct{}{}
		after(10*time.Second, 2)
		go write()
		after(8*time.Second, 3)
		g <- struct{}{}
		stop()
		synctest.Wait()
	})
}
