package kernel

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ethtune/ethtune/engine/nic"
	"github.com/ethtune/ethtune/tune/knob"
)

// Params is a family of numbers and switches of one interface: its coalescing, or its rings. It keeps nothing: each call
// asks the kernel.
type Params struct {
	name  string // of the family and before the dot of its knobs
	dev   string
	usual []string // what is shown of a driver that has none of them
	get   func(dev string) ([]nic.Param, error)
	set   func(dev string, values map[string]uint32) error
}

// NewCoalesce makes the family coalesce.* of the interface dev. The card stays the caller's.
func NewCoalesce(card interface {
	Coalesce(dev string) ([]nic.Param, error)
	SetCoalesce(dev string, values map[string]uint32) error
}, dev string) *Params {
	usual := []string{"rx-usecs", "rx-frames", "tx-usecs", "tx-frames", "adaptive-rx", "adaptive-tx"}
	return &Params{"coalesce", dev, usual, card.Coalesce, card.SetCoalesce}
}

// NewRing makes the family ring.* of the interface dev. The card stays the caller's.
func NewRing(card interface {
	Rings(dev string) ([]nic.Param, error)
	SetRings(dev string, values map[string]uint32) error
}, dev string) *Params {
	return &Params{"ring", dev, []string{"rx", "tx"}, card.Rings, card.SetRings}
}

// Name is "coalesce" or "ring".
func (p *Params) Name() string { return p.name }

// Read asks for every parameter that the driver has. Those that are usual and that it does not have are there without a
// value, fixed, with the kernel's words where it had some.
func (p *Params) Read(ctx context.Context) ([]knob.State, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	list, err := p.get(p.dev)
	missing := "not supported"
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		missing += ": " + words(err)
	case err != nil:
		return nil, err
	}
	states := make([]knob.State, 0, len(list)+len(p.usual))
	has := make(map[string]bool, len(list))
	for _, v := range list {
		has[v.Name] = true
		s := knob.State{Knob: p.name + "." + v.Name, Value: strconv.FormatUint(uint64(v.Value), 10), Max: int64(v.Max)}
		if v.Switch {
			s.Value, s.Offers = onOff(v.Value != 0), []string{on, off}
		}
		states = append(states, s)
	}
	for _, name := range p.usual {
		if !has[name] {
			states = append(states, knob.State{Knob: p.name + "." + name, Fixed: missing})
		}
	}
	sortStates(states)
	return states, nil
}

// words are the kernel's in err, without interface and request.
func words(err error) string {
	var worded interface{ Reason() string }
	if errors.As(err, &worded) {
		return worded.Reason()
	}
	return err.Error()
}

// Write makes the settings in one request, since drivers judge them together.
func (p *Params) Write(ctx context.Context, settings []knob.Setting) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	values := make(map[string]uint32, len(settings))
	for _, s := range settings {
		name, ours := strings.CutPrefix(s.Knob, p.name+".")
		if !ours {
			return fmt.Errorf("%s is not a knob of family %s", s.Knob, p.name)
		}
		n, err := number(s.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Knob, err)
		}
		values[name] = n
	}
	return p.set(p.dev, values)
}

// number is what the kernel has for a switch or a number.
func number(value string) (uint32, error) {
	switch value {
	case on:
		return 1, nil
	case off:
		return 0, nil
	}
	n, err := strconv.ParseUint(value, 10, 32)
	return uint32(n), err
}
