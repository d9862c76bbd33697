package flow

import (
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
)

// A clock that is set, at either end and either way, is no jitter.
func TestTransitOverAClockThatIsSet(t *testing.T) {
	var tr transit
	for i := range 100 {
		at := int64(1000 * (i % 2))
		if i >= 50 {
			at += 3600e9
		}
		if i >= 80 {
			at -= 7200e9
		}
		tr.add(at)
	}
	var h metric.Hist
	tr.take(&h)
	if most, ok := h.Max(); !ok || most > 1100 || h.N() != 97 {
		t.Errorf("%d changes of %d ns at most", h.N(), most)
	}
	if j := tr.estimate().Or(0); j > 1000 {
		t.Errorf("jitter %v ns", j)
	}
}
