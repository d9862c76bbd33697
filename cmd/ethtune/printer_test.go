package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
)

func TestDropsAreTold(t *testing.T) {
	quiet := &metric.Host{Softnet: &metric.Softnet{Processed: 9}, NIC: &metric.NIC{Device: "eth0", RxBytes: 5},
		Slow: &metric.HostSlow{Qdiscs: []metric.Qdisc{{Kind: "fq", Parent: "root", Overlimits: 3, Backlog: 2}}}}
	for _, h := range []*metric.Host{nil, {}, quiet} {
		if got := dropText(h); got != "" {
			t.Errorf("%+v: %q", h, got)
		}
	}
	f := &metric.Frame{Suspect: "why", Host: &metric.Host{
		NIC: &metric.NIC{Device: "eth0", RxDropped: 4, TxDropped: 2},
		Slow: &metric.HostSlow{Qdiscs: []metric.Qdisc{
			{Kind: "mq", Parent: "root", Drops: 7}, {Kind: "fq_codel", Parent: ":1", Drops: 7},
		}},
	}}
	if got := frameText(f); !strings.HasSuffix(got, "  eth0 rx drops 4  eth0 tx drops 2  mq drops 7  suspect: why") {
		t.Errorf("%q", got)
	}
}

// TestIntervalIsDocumented wants every field of an interval in the help, but the histograms, which are not in the output.
func TestIntervalIsDocumented(t *testing.T) {
	var look func(reflect.Type)
	look = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct {
			return
		}
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if name == "" || strings.HasSuffix(name, "_hist") {
				continue
			}
			if !strings.Contains(jsonHelp, name) {
				t.Errorf("%s.%s is not in the help", typ.Name(), name)
			}
			look(typ.Field(i).Type)
		}
	}
	look(reflect.TypeFor[metric.Frame]())
}
