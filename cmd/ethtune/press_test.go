package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestPressPrintsInOrderAndKeepsTheError(t *testing.T) {
	p := newPress()
	full := errors.New("no space left on device")
	var got []int
	for i := range 3 {
		if err := p.print(t.Context(), func() error { got = append(got, i); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	_ = p.print(t.Context(), func() error { return full })
	<-p.over
	if err := p.print(t.Context(), func() error { t.Error("printed after a failure"); return nil }); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	if err := p.finish(); !errors.Is(err, full) || len(got) != 3 || got[2] != 2 {
		t.Errorf("%v %v", got, err)
	}
}

func TestPressWithAReaderThatStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPress()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var told []bool
		go p.watch(ctx, func(stuck bool) { told = append(told, stuck) })
		open := make(chan struct{})
		_ = p.print(ctx, func() error { <-open; return nil })
		<-time.After(4 * time.Second)
		synctest.Wait()
		if len(told) != 0 {
			t.Error("called gone too early")
		}
		<-time.After(3 * time.Second)
		open <- struct{}{}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if len(told) != 2 || !told[0] || told[1] {
			t.Errorf("told %v, want gone and back", told)
		}
		// The queue fills; a signal must get through all the same.
		_ = p.print(ctx, func() error { <-open; return nil })
		synctest.Wait()
		for range pressQueue {
			_ = p.print(ctx, func() error { return nil })
		}
		soon, stop := context.WithTimeout(ctx, time.Second)
		defer stop()
		if err := p.print(soon, func() error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		start := time.Now()
		if err := p.finish(); !errors.Is(err, errMute) || time.Since(start) != lastWords {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		close(open)
		<-p.over
	})
}
