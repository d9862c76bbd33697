package knob

import (
	"slices"
	"testing"
)

func back(side Side, name, from, got string) Result {
	return Result{Setting: Setting{side, name, got}, From: from, Got: got, Outcome: Applied}
}

func names(results []Result) []string {
	var out []string
	for _, r := range results {
		out = append(out, string(r.Side)+":"+r.Knob)
	}
	return out
}

func TestFold(t *testing.T) {
	tso := []string{"feature.tx-tcp-segmentation", "feature.tx-tcp6-segmentation", "feature.tx-tcp-ecn-segmentation"}
	var same, mixed, both, devs []Result
	for i, m := range tso {
		same = append(same, back(Near, m, "off", "on"))
		mixed = append(mixed, back(Near, m, "off", []string{"on", "on", "off"}[i]))
		both = append(both, back(Near, m, "off", "on"), back(Far, m, "on", "off"))
		for _, dev := range []string{"eth0", "eth1"} {
			r := back(Near, m, "off", "on")
			r.Dev = dev
			devs = append(devs, r)
		}
	}
	for _, c := range []struct {
		name string
		in   []Result
		want []string
	}{
		{"a group", append([]Result{back(Near, "dev.mtu", "9000", "1500")}, same...), []string{"near:dev.mtu", "near:feature.tso"}},
		{"two sides", both, []string{"near:feature.tso", "far:feature.tso"}},
		{"two interfaces", devs, []string{"near:feature.tso", "near:feature.tso"}},
		{"not all alike", mixed, names(mixed)},
		{"one member", same[:1], names(same[:1])},
		{"none", nil, nil},
	} {
		if got := names(Fold(c.in)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestFoldChanges(t *testing.T) {
	in := []Change{{"feature.tso", "on", "off"}, {"feature.tx-tcp-segmentation", "on", "off"}, {"feature.tx-udp-segmentation", "on", "off"}}
	if got := FoldChanges(in); len(got) != 2 || got[0].Knob != "feature.tso" || got[1].Knob != "feature.tx-udp-segmentation" {
		t.Errorf("%v", got)
	}
	lone := in[1:2]
	if got := FoldChanges(lone); len(got) != 1 {
		t.Errorf("a member without its group must stay: %v", got)
	}
}
