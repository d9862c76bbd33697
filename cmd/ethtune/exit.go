package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/ethtune/ethtune/tune/rig"
)

// The exit codes. If several apply the order is 4, 3, 5, 1; a signal gives 128 + its number.
const (
	exitOK         = 0
	exitFailed     = 1 // or the kernel refused or did not keep a value
	exitUsage      = 2 // refused by our own checks before anything was written
	exitPermission = 3
	exitRestore    = 4 // settings could not be put back
	exitPeer       = 5 // unreachable or refused
)

var (
	errUsage   = errors.New("usage")
	errRestore = errors.New("could not be put back")
	// errSaid is a failure that was reported where it happened.
	errSaid = errors.New("failed")
)

// usageError is ours to refuse; its text is the whole line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }
func (e *usageError) Unwrap() error { return errUsage }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errRestore):
		return exitRestore
	case errors.Is(err, rig.ErrPermission), errors.Is(err, os.ErrPermission):
		return exitPermission
	case errors.Is(err, rig.ErrPeer):
		return exitPeer
	case errors.Is(err, errUsage), errors.Is(err, rig.ErrInput):
		return exitUsage
	}
	return exitFailed
}

// catchSignals cancels the context on the signals that mean "stop", so that everything is put back first, and says
// which it was. A second signal ends the process, and its agents put back what it turned.
func catchSignals(ctx context.Context) (_ context.Context, caught func() syscall.Signal, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ch := make(chan os.Signal, 1)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	var got atomic.Int32
	go func() {
		select {
		case s := <-ch:
			signal.Stop(ch)
			got.Store(int32(s.(syscall.Signal)))
			cancel()
		case <-ctx.Done():
		}
	}()
	stop = func() {
		signal.Stop(ch)
		cancel()
	}
	return ctx, func() syscall.Signal { return syscall.Signal(got.Load()) }, stop
}
