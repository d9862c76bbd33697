package native

import (
	"strings"
	"testing"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/metric"
)

// A refusal of one end changes neither: the far end, which is asked first, has its old congestion control back.
func TestRefusedTuneIsUndone(t *testing.T) {
	hooks := dialect.Hooks{Begin: func() {}, Note: func(string, ...any) {}}
	d, err := NewDriver(t.Context(), serve(t).Addr(), Options{}, hooks)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	spec := metric.DefaultSpec()
	spec.Mode, spec.Streams, spec.Near.Congestion, spec.Far.Congestion = metric.ModeBoth, 2, "reno", "reno"
	if err := d.Drive(t.Context(), spec, false); err != nil {
		t.Fatal(err)
	}
	bad := spec
	bad.Near.Congestion, bad.Far.Congestion = "nonesuch", "cubic"
	if err := d.Drive(t.Context(), bad, false); err == nil || !strings.Contains(err.Error(), "near end: set congestion control nonesuch") {
		t.Errorf("got %v", err)
	}
	near, far, err := d.client.Tune(t.Context(), metric.Socket{}, metric.Socket{})
	if err != nil || len(far) != 4 || len(near) != 4 {
		t.Fatalf("asked of both ends: %v %v %v", near, far, err)
	}
	for _, end := range []map[uint32]metric.GrantedSocket{near, far} {
		for id, g := range end {
			if g.Congestion != "reno" {
				t.Errorf("stream %d has %s", id, g.Congestion)
			}
		}
	}
	if s := d.State().Spec; s != spec {
		t.Errorf("the load is now %+v", s)
	}
}
