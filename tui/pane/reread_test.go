package pane

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
)

// What a later reading shows moved is somebody else's doing, unless a turn, a load or the first reading explains it.
func TestReread(t *testing.T) {
	const backlog, budget = "sysctl.net.core.netdev_max_backlog", "sysctl.net.core.netdev_budget"
	before := []knob.State{
		{Knob: "feature.tso", Side: knob.Near, Value: "on"}, {Knob: "feature.tx-tcp-segmentation", Side: knob.Near, Value: "on"},
		{Knob: "feature.rx-gro", Side: knob.Near, Value: "off"}, {Knob: "feature.rx-gro", Side: knob.Far, Value: "off"},
		{Knob: "socket.sndbuf", Side: knob.Near, Value: "87040"}, {Knob: "ring.rx", Side: knob.Near},
		{Knob: backlog, Side: knob.Near, Value: "1000"}, {Knob: backlog, Side: knob.Host, Value: "1000"},
		{Knob: budget, Side: knob.Host, Value: "300"},
	}
	set := func(side knob.Side, name, value string) knob.Setting {
		return knob.Setting{Side: side, Knob: name, Value: value}
	}
	for _, tt := range []struct {
		name  string
		now   []knob.Setting // what differs
		marks []metric.Mark
		want  []knob.Setting
	}{
		{"nothing", nil, nil, nil},
		{"one", []knob.Setting{set(knob.Host, budget, "600")}, nil, []knob.Setting{set(knob.Host, budget, "600")}},
		{"the far end", []knob.Setting{set(knob.Far, "feature.rx-gro", "on")}, nil, []knob.Setting{set(knob.Far, "feature.rx-gro", "on")}},
		{"a group stands for its members",
			[]knob.Setting{set(knob.Near, "feature.tso", "off"), set(knob.Near, "feature.tx-tcp-segmentation", "off")}, nil,
			[]knob.Setting{set(knob.Near, "feature.tso", "off")}},
		{"the load's own", []knob.Setting{set(knob.Near, "socket.sndbuf", "174080")}, nil, nil},
		{"the copy in a namespace", []knob.Setting{set(knob.Near, backlog, "5")}, nil, nil},
		{"a value where there was none", []knob.Setting{set(knob.Near, "ring.rx", "256")}, nil, nil},
		{"turned", []knob.Setting{set(knob.Host, budget, "600")}, []metric.Mark{{N: 1, Knob: budget}}, nil},
		{"another was turned", []knob.Setting{set(knob.Host, budget, "600")}, []metric.Mark{{N: 1, Knob: backlog}},
			[]knob.Setting{set(knob.Host, budget, "600")}},
		{"a side effect", []knob.Setting{set(knob.Host, budget, "600")},
			[]metric.Mark{{N: 1, Knob: backlog, Also: []metric.Also{{Knob: budget}}}}, nil},
		{"a feature beside a turned one", []knob.Setting{set(knob.Near, "feature.rx-gro", "on")},
			[]metric.Mark{{N: 1, Knob: "feature.tx"}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := NewKnobList()
			if got := k.Reread(append([]knob.State{}, before...), nil); got != nil {
				t.Errorf("the first reading: %v", got)
			}
			now := append([]knob.State{}, before...)
			for _, s := range tt.now {
				for i := range now {
					if now[i].Knob == s.Knob && now[i].Side == s.Side {
						now[i].Value = s.Value
					}
				}
			}
			got := k.Reread(now, tt.marks)
			if len(got)+len(tt.want) > 0 {
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Error(d)
				}
			}
			for _, s := range tt.want {
				k.chosen = s.Knob
				lamp, words, _ := k.row().state()
				if lamp != Adjusted || words != "changed by another" || k.State(s.Side, s.Knob).Value != s.Value {
					t.Errorf("%s: lamp %d %q, value %s", s.Knob, lamp, words, k.State(s.Side, s.Knob).Value)
				}
				k.Add(&metric.Mark{N: 9, Knob: s.Knob, Side: string(s.Side), From: s.Value, Got: "1", Outcome: string(knob.Applied)})
				if _, words, _ := k.row().state(); words == "changed by another" {
					t.Errorf("%s: a turn of our own left %q", s.Knob, words)
				}
			}
		})
	}
}
