package nic

import (
	"os"
	"runtime"
	"sync"

	"github.com/safchain/ethtool"
)

// heldFrame is the size in bytes of the frame below every call into the ioctl library.
//
// The library hands the kernel addresses of variables on its stack as plain numbers (version 0.7.0,
// func (*Ethtool) ioctl). If the stack moves between the taking of the address and the system call, the kernel reads and
// writes where the stack used to be, and the library returns an empty answer without an error: in 900 of 42,000 calls on
// stacks that grew as they went. So each call has a goroutine of its own whose stack cannot move: this frame makes it
// 128 KiB from the start, more than half of which is in use, so the collector, which halves a stack of which less than a
// quarter is used, leaves it alone; and what remains is more than any call takes (FeaturesWithState 33 KiB, the others
// less), so it does not grow.
const heldFrame = 72 << 10

// card is the ioctl way to an interface's driver, through github.com/safchain/ethtool. It never calls that library's
// GetLinkSettings, which prints to standard output.
type card struct {
	mu  sync.RWMutex
	lib *ethtool.Ethtool // nil after close
}

// openCard opens the library's socket here and not on another goroutine: it belongs to the network namespace of the
// calling thread, wherever it is used later.
func openCard() (*card, error) {
	lib, err := ethtool.NewEthtool()
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	return &card{lib: lib}, nil
}

func (c *card) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lib != nil {
		c.lib.Close()
		c.lib = nil
	}
}

// call runs f on a stack that does not move. The library is f's until it returns.
func (c *card) call(f func(*ethtool.Ethtool) error) error {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.lib == nil {
		return os.ErrClosed
	}
	done := make(chan error, 1)
	go func() { done <- hold(c.lib, f) }()
	return <-done
}

// hold keeps the frame in use as long as f runs.
//
//go:noinline
func hold(lib *ethtool.Ethtool, f func(*ethtool.Ethtool) error) error {
	var frame [heldFrame]byte
	occupy(&frame)
	err := f(lib)
	runtime.KeepAlive(&frame)
	return err
}

// occupy is what the compiler cannot see through, so that the frame is there.
//
//go:noinline
func occupy(frame *[heldFrame]byte) { frame[0]++ }
