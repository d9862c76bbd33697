package nic

import "github.com/safchain/ethtool"

// Driver is what a driver says about itself. What it does not say is empty.
type Driver struct {
	Name     string // "veth", "r8169"
	Version  string // mostly the kernel's
	Firmware string
	Bus      string // address on its bus, such as "0000:01:00.0"
}

// Driver is the name of the interface's driver.
func (c *Client) Driver(dev string) (string, error) {
	d, err := c.DriverInfo(dev)
	return d.Name, err
}

// DriverInfo asks the driver about itself (ETHTOOL_GDRVINFO). There is no netlink message for it.
func (c *Client) DriverInfo(dev string) (Driver, error) {
	return ask("read driver", dev, func(dev string) (d Driver, err error) {
		err = c.card.call(func(lib *ethtool.Ethtool) error {
			i, err := lib.DriverInfo(dev)
			d = Driver{Name: i.Driver, Version: i.Version, Firmware: i.FwVersion, Bus: i.BusInfo}
			return err
		})
		return d, err
	})
}

// Stats are the driver's own counters by the driver's own names, as "ethtool -S" shows them; where it has two of one name
// the later counts. What they mean only the driver knows. A driver without any is [errors.ErrUnsupported].
func (c *Client) Stats(dev string) (map[string]uint64, error) {
	return ask("read driver statistics", dev, func(dev string) (stats map[string]uint64, err error) {
		err = c.card.call(func(lib *ethtool.Ethtool) (err error) {
			stats, err = lib.Stats(dev)
			return err
		})
		return stats, err
	})
}

// PrivFlags are the driver's private flags by its own names; empty where it has none.
func (c *Client) PrivFlags(dev string) (map[string]bool, error) {
	return ask("read private flags", dev, func(dev string) (flags map[string]bool, err error) {
		err = c.card.call(func(lib *ethtool.Ethtool) (err error) {
			flags, err = lib.PrivFlags(dev)
			return err
		})
		return flags, err
	})
}
