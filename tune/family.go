package tune

import (
	"context"
	"fmt"

	"github.com/ethtune/ethtune/engine/nic"
	"github.com/ethtune/ethtune/tune/internal/kernel"
	"github.com/ethtune/ethtune/tune/knob"
)

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

// Kernel returns the families of the interface dev in the network namespace of the calling thread, and what lets go of
// them. The Families stay in that namespace whichever thread uses them.
func Kernel(dev string) ([]Family, func() error, error) {
	client, err := nic.Open()
	if err != nil {
		return nil, nil, err
	}
	if _, err := client.Link(dev); err != nil {
		client.Close()
		return nil, nil, fmt.Errorf("no knobs of an interface: %w", err)
	}
	return []Family{kernel.NewDevice(client, dev)}, client.Close, nil
}
