package tune

import (
	"context"
	"errors"
	"fmt"

	"github.com/ethtune/ethtune/engine/nic"
	"github.com/ethtune/ethtune/tune/internal/kernel"
	"github.com/ethtune/ethtune/tune/knob"
)

// proc is where the kernel has its settings.
const proc = "/proc"

// Family is knobs that are read and written together: a turn of one may move any other of them. A [Tuner] calls it from
// one goroutine at a time.
type Family interface {
	// Name is for messages.
	Name() string
	// Read returns every knob of the family as it is now, one State per side and knob. Where a knob has a request beside
	// its value and they differ, Wanted carries the request, also if the value moves by itself (a socket buffer that the
	// kernel sizes is wanted "0"): what is wanted is what an undo asks for.
	Read(ctx context.Context) ([]knob.State, error)
	// Write asks for the settings. Its error is a reason to show, never an outcome: that is what the next Read says. An
	// error with a method Reason() string has the words to show there.
	Write(ctx context.Context, settings []knob.Setting) error
}

// Checker is a Family that refuses values which no host of this size can mean, before anything is written. What was found
// is never checked: it must be possible to put it back.
type Checker interface{ Check(knob.Setting) error }

// Kernel returns the families of the interface dev and of the network namespace of the calling thread, without dev those
// of the namespace alone, and what lets go of them. The Families stay in that namespace whichever thread uses them.
func Kernel(dev string) ([]Family, func() error, error) {
	netns, err := kernel.OpenNetns(proc)
	if err != nil {
		return nil, nil, err
	}
	if dev == "" {
		return []Family{netns}, netns.Close, nil
	}
	client, err := nic.Open()
	if err != nil {
		return nil, nil, errors.Join(err, netns.Close())
	}
	free := func() error { return errors.Join(netns.Close(), client.Close()) }
	if _, err := client.Link(dev); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("no knobs of an interface: %w", err), free())
	}
	return []Family{kernel.NewDevice(client, dev), kernel.NewCoalesce(client, dev), kernel.NewRing(client, dev), netns}, free, nil
}

// Host returns the families of the machine as a whole, and what lets go of them. In a network namespace other than the
// first they cannot be turned, and their states say so.
func Host() ([]Family, func() error, error) {
	host, err := kernel.OpenHost(proc)
	if err != nil {
		return nil, nil, err
	}
	return []Family{host}, host.Close, nil
}
