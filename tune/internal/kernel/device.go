package kernel

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/ethtune/ethtune/engine/nic"
	"github.com/ethtune/ethtune/tune/knob"
)

// Host is the part of [nic.Client] that a Device needs, so that a test can put a kernel of its own in its place.
type Host interface {
	Features(dev string) ([]nic.Feature, error)
	SetFeatures(dev string, bits map[string]bool) error
	Link(dev string) (nic.Link, error)
	SetMTU(dev string, mtu uint32) error
	SetTxQueueLen(dev string, packets uint32) error
}

var _ Host = (*nic.Client)(nil)

// Device is the family of one interface's knobs: every feature bit its kernel has, the groups over them, dev.mtu and
// dev.tx_queue_len. It keeps nothing: each call asks the kernel.
type Device struct {
	host Host
	dev  string
}

// NewDevice makes the family of the interface dev. The host stays the caller's.
func NewDevice(host Host, dev string) *Device { return &Device{host: host, dev: dev} }

// Name is "device".
func (d *Device) Name() string { return "device" }

// Read asks the kernel for every knob, in the catalogue's order; bits that the catalogue does not have come last, in the
// kernel's order. Where the kernel cannot be asked for features, the catalogue's are there without a value, fixed for that
// reason.
func (d *Device) Read(ctx context.Context) ([]knob.State, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	link, err := d.host.Link(d.dev)
	if err != nil {
		return nil, err
	}
	features, err := d.host.Features(d.dev)
	var states []knob.State
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		states = unreadable(err)
	case err != nil:
		return nil, err
	default:
		states = featureStates(features)
	}
	states = append(states, linkStates(link)...)
	sortStates(states)
	return states, nil
}

// sortStates puts states in the catalogue's order; what is not in it comes last, in the order it has.
func sortStates(states []knob.State) {
	slices.SortStableFunc(states, func(a, b knob.State) int {
		return cmp.Compare(knob.Place(a.Knob), knob.Place(b.Knob))
	})
}

// Write makes the settings: all features in one request, then MTU and queue length. It tries them all and returns what
// went wrong, joined; what the settings came to is for the next Read to say.
func (d *Device) Write(ctx context.Context, settings []knob.Setting) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var (
		bits map[string]bool
		rest []knob.Setting
		errs []error
	)
	for _, s := range settings {
		if knob.Family(s.Knob) != "feature" {
			rest = append(rest, s)
			continue
		}
		if bits == nil {
			bits = make(map[string]bool)
		}
		errs = append(errs, d.addBits(bits, s))
	}
	if len(bits) > 0 {
		errs = append(errs, d.host.SetFeatures(d.dev, bits))
	}
	for _, s := range rest {
		errs = append(errs, d.writeLink(s))
	}
	return errors.Join(errs...)
}
