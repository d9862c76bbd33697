package tune

import (
	"errors"

	"github.com/ethtune/ethtune/tune/internal/kernel"
)

// Open is the [Opener] of this host: for a device the families of [Kernel], and for the empty name those of the network
// namespace of the calling thread and of the host.
func Open(dev string) ([]Family, func() error, error) {
	if dev != "" {
		return Kernel(dev)
	}
	families, release, err := Host()
	if err != nil {
		return nil, nil, err
	}
	netns, err := kernel.OpenNetns(proc)
	if err != nil {
		return nil, nil, errors.Join(err, release())
	}
	return append(families, netns), func() error { return errors.Join(netns.Close(), release()) }, nil
}
