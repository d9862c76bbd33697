package dialect

import (
	"fmt"

	"github.com/ethtune/ethtune/engine/metric"
)

// NearOnly is spec for a peer whose threads cannot be told how to work: what was asked of both ends is done by the near one
// alone. What was asked of the far end in particular is an error, [ErrCannot] with the reason.
func NearOnly(spec metric.Spec, reason string) (metric.Spec, error) {
	both := spec.NearCalls
	both.Affinity = ""
	if spec.FarCalls != (metric.Calls{}) && spec.FarCalls != both {
		return spec, fmt.Errorf("%w: far end: %s", ErrCannot, reason)
	}
	spec.FarCalls = metric.Calls{}
	return spec, nil
}
