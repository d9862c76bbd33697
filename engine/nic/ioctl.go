package nic

import (
	"cmp"
	"errors"
	"slices"

	"github.com/safchain/ethtool"
	"golang.org/x/sys/unix"
)

// ioctlWay is SIOCETHTOOL, for kernels without ethtool netlink.
type ioctlWay struct{ card *card }

// close leaves the card to the Client, whose it is.
func (ioctlWay) close() error { return nil }

// errGaps is a kernel whose feature numbers have gaps the library cannot reach beyond: it counts names where it should
// look at numbers.
var errGaps = errors.New("the numbers of this kernel's features have gaps, and the ioctl way cannot see past them")

// featureNames are the numbers of the kernel's feature bits.
func featureNames(lib *ethtool.Ethtool, dev string) (map[string]uint, error) {
	names, err := lib.FeatureNames(dev)
	if err != nil {
		return nil, err
	}
	blocks := uint(len(names)+31) / 32
	for _, i := range names {
		if i/32 >= blocks {
			return nil, errGaps
		}
	}
	return names, nil
}

func (w ioctlWay) features(dev string) ([]Feature, error) {
	var list []Feature
	err := w.card.call(func(lib *ethtool.Ethtool) error {
		names, err := featureNames(lib, dev)
		if err != nil {
			return err
		}
		states, err := lib.FeaturesWithState(dev)
		if err != nil {
			return err
		}
		for name, s := range states {
			list = append(list, Feature{Name: name, Active: s.Active, Wanted: s.Requested, Hw: s.Available, Never: s.NeverChanged})
		}
		slices.SortFunc(list, func(a, b Feature) int { return cmp.Compare(names[a.Name], names[b.Name]) })
		return nil
	})
	return list, err
}

func (w ioctlWay) setFeatures(dev string, bits map[string]bool) error {
	return w.card.call(func(lib *ethtool.Ethtool) error {
		names, err := featureNames(lib, dev)
		if err != nil {
			return err
		}
		for name := range bits {
			if _, ok := names[name]; !ok {
				// The words and the number that ethtool netlink has for it (net/ethtool/bitset.c ethnl_parse_bit).
				return worded{unix.EOPNOTSUPP, "bit name not found"}
			}
		}
		return lib.Change(dev, bits)
	})
}

func (w ioctlWay) coalesce(dev string) ([]Param, error) {
	c, err := w.getCoalesce(dev)
	if err != nil {
		return nil, err
	}
	return listParams(coalesceParams, &c), nil
}

func (w ioctlWay) getCoalesce(dev string) (c ethtool.Coalesce, err error) {
	err = w.card.call(func(lib *ethtool.Ethtool) (err error) {
		c, err = lib.GetCoalesce(dev)
		return err
	})
	return c, err
}

func (w ioctlWay) setCoalesce(dev string, values map[string]uint32) error {
	c, err := w.getCoalesce(dev)
	if err != nil {
		return err
	}
	if err := putParams(coalesceParams, &c, values); err != nil {
		return err
	}
	return w.card.call(func(lib *ethtool.Ethtool) error {
		_, err := lib.SetCoalesce(dev, c)
		return err
	})
}

func (w ioctlWay) rings(dev string) ([]Param, error) {
	r, err := w.getRing(dev)
	if err != nil {
		return nil, err
	}
	return listParams(ringParams, &r), nil
}

func (w ioctlWay) getRing(dev string) (r ethtool.Ring, err error) {
	err = w.card.call(func(lib *ethtool.Ethtool) (err error) {
		r, err = lib.GetRing(dev)
		return err
	})
	return r, err
}

func (w ioctlWay) setRings(dev string, values map[string]uint32) error {
	r, err := w.getRing(dev)
	if err != nil {
		return err
	}
	if err := putParams(ringParams, &r, values); err != nil {
		return err
	}
	return w.card.call(func(lib *ethtool.Ethtool) error {
		_, err := lib.SetRing(dev, r)
		return err
	})
}

// listParams reads the struct of the ioctl, in which a parameter that the driver does not have is 0, or has no maximum.
func listParams[S any](table []param[S], s *S) []Param {
	var list []Param
	for _, p := range table {
		if p.field == nil {
			continue
		}
		v := Param{Name: p.name, Value: *p.field(s), Switch: p.flag}
		if p.ceil != nil {
			v.Max = *p.ceil(s)
		}
		if v.Value != 0 || v.Max != 0 || p.usual {
			list = append(list, v)
		}
	}
	return list
}

// putParams writes values into what was read, since the ioctl sets all at once.
func putParams[S any](table []param[S], s *S, values map[string]uint32) error {
	for name, v := range values {
		p, err := find(table, name)
		if err != nil {
			return err
		}
		if p.field == nil {
			return worded{unix.EOPNOTSUPP, name + " needs ethtool netlink, which this kernel does not have"}
		}
		*p.field(s) = v
	}
	return nil
}
