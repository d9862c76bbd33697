package kernel

import (
	"slices"
	"strings"

	"github.com/ethtune/ethtune/engine/nic"
	"github.com/ethtune/ethtune/tune/knob"
)

const (
	prefix = "feature."
	on     = "on"
	off    = "off"

	// fixedByDriver is said of what ethtool shows as [fixed].
	fixedByDriver = "fixed by driver"
)

func onOff(b bool) string {
	if b {
		return on
	}
	return off
}

// featureStates are the states of the bits and of the groups over them.
func featureStates(features []nic.Feature) []knob.State {
	byName := make(map[string]nic.Feature, len(features))
	states := make([]knob.State, 0, len(features)+4)
	for _, f := range features {
		name := prefix + f.Name
		byName[name] = f
		s := knob.State{Knob: name, Value: onOff(f.Active), Offers: []string{on, off}}
		switch {
		case !f.Changeable():
			// The request for a fixed bit means nothing: the kernel keeps none for it.
			s.Fixed, s.Offers = fixedByDriver, nil
		case f.Wanted != f.Active:
			s.Wanted = onOff(f.Wanted)
		}
		states = append(states, s)
	}
	for _, doc := range knob.Catalogue() {
		if s, ok := groupState(doc, byName); ok {
			states = append(states, s)
		}
	}
	return states
}

// groupState computes a group from its members. Of the members that decide (the catalogue says which; all where it names
// none) those that are changeable here count, or all if none is. The group is on if any that counts is active, and wanted
// on if any that counts is wanted. So an extra bit that stays on alone, as tx-tcp-accecn-segmentation does after "tx off",
// does not make the group look on.
func groupState(doc knob.Doc, features map[string]nic.Feature) (knob.State, bool) {
	if len(doc.Members) == 0 || !strings.HasPrefix(doc.Key, prefix) {
		return knob.State{}, false
	}
	present := func(names []string) (found []nic.Feature) {
		for _, name := range names {
			if f, ok := features[name]; ok {
				found = append(found, f)
			}
		}
		return found
	}
	members := present(doc.Members)
	if len(members) == 0 {
		return knob.State{}, false
	}
	deciding := members
	if len(doc.Decides) > 0 {
		deciding = present(doc.Decides)
	}
	if slices.ContainsFunc(deciding, nic.Feature.Changeable) {
		deciding = slices.DeleteFunc(slices.Clone(deciding), func(f nic.Feature) bool { return !f.Changeable() })
	}
	active := slices.ContainsFunc(deciding, func(f nic.Feature) bool { return f.Active })
	wanted := slices.ContainsFunc(deciding, func(f nic.Feature) bool { return f.Wanted })
	s := knob.State{Knob: doc.Key, Value: onOff(active), Offers: []string{on, off}}
	switch {
	case !slices.ContainsFunc(members, nic.Feature.Changeable):
		s.Fixed, s.Offers = fixedByDriver, nil
	case wanted != active:
		s.Wanted = onOff(wanted)
	}
	return s, true
}

// unreadable are the catalogue's features on a kernel that cannot be asked for them.
func unreadable(why error) []knob.State {
	var states []knob.State
	for _, doc := range knob.Catalogue() {
		if strings.HasPrefix(doc.Key, prefix) {
			states = append(states, knob.State{Knob: doc.Key, Fixed: words(why)})
		}
	}
	return states
}

// addBits adds what a setting asks of single bits: a group asks all its members that are changeable here.
func (d *Device) addBits(bits map[string]bool, s knob.Setting) error {
	members := knob.Members(s.Knob)
	if len(members) == 0 {
		bits[strings.TrimPrefix(s.Knob, prefix)] = s.Value == on
		return nil
	}
	features, err := d.host.Features(d.dev)
	if err != nil {
		return err
	}
	for _, f := range features {
		if f.Changeable() && slices.Contains(members, prefix+f.Name) {
			bits[f.Name] = s.Value == on
		}
	}
	return nil
}
