package nic

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mdlayher/netlink"
)

// Param is one number or switch of an interface, such as a coalescing time or a ring's size.
type Param struct {
	Name   string // ethtool's: "rx-usecs", "adaptive-rx", "rx"
	Value  uint32 // of a switch 0 or 1
	Max    uint32 // as the driver gives it; 0 = not given
	Switch bool
}

// param says where one parameter is: S is the struct that the ioctl has it in.
type param[S any] struct {
	name  string
	attr  uint16
	most  uint16           // the attribute with its maximum; 0 = none
	flag  bool             // one byte, 0 or 1
	field func(*S) *uint32 // nil = the ioctl does not have it
	usual bool             // listed though it is 0
	ceil  func(*S) *uint32 // its maximum; a driver that gives 0 has no such parameter
}

// parseParams reads a COALESCE_GET or RINGS_GET reply. The kernel leaves out what the driver does not have.
func parseParams[S any](table []param[S], data []byte) ([]Param, error) {
	ad, err := netlink.NewAttributeDecoder(data)
	if err != nil {
		return nil, err
	}
	numbers := make(map[uint16]uint32, len(table))
	bytes := make(map[uint16]bool)
	for _, p := range table {
		bytes[p.attr] = p.flag
	}
	for ad.Next() {
		t := ad.Type()
		flag, ours := bytes[t]
		switch {
		case flag:
			numbers[t] = uint32(ad.Uint8())
		case ours || slices.ContainsFunc(table, func(p param[S]) bool { return p.most != 0 && p.most == t }):
			numbers[t] = ad.Uint32()
		}
	}
	if err := ad.Err(); err != nil {
		return nil, err
	}
	var list []Param
	for _, p := range table {
		if v, ok := numbers[p.attr]; ok {
			list = append(list, Param{Name: p.name, Value: v, Max: numbers[p.most], Switch: p.flag})
		}
	}
	return list, nil
}

// setParams sends the attributes that are asked for and no others; the kernel keeps the rest.
func setParams[S any](g *genetlinkWay, cmd uint8, table []param[S], dev string, values map[string]uint32) error {
	ae := about(dev, 0)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		p, err := find(table, name)
		if err != nil {
			return err
		}
		if p.flag {
			ae.Uint8(p.attr, uint8(min(values[name], 1)))
		} else {
			ae.Uint32(p.attr, values[name])
		}
	}
	return g.set(cmd, ae)
}

func find[S any](table []param[S], name string) (param[S], error) {
	for _, p := range table {
		if p.name == name {
			return p, nil
		}
	}
	return param[S]{}, fmt.Errorf("no parameter is called %.40q", name)
}
