package tui

import (
	"errors"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tune/knob"
)

func TestGoldenFarewell(t *testing.T) {
	var sum Summary
	sum.Title, sum.Dialect = "lab", "native"
	sum.Spec = metric.DefaultSpec()
	sum.Spec.Streams = 4
	for _, r := range sceneRecords() {
		sum.add(r)
	}
	sum.Ran = 252 * time.Second
	sum.add(&metric.Mark{N: 3, Knob: "socket.sndbuf", Side: "near", From: "212992", Asked: "212992", Got: "425984", Outcome: "applied"})
	put := func(side knob.Side, name, start, quit, now string) knob.Result {
		return knob.Result{Setting: knob.Setting{Side: side, Knob: name, Value: start}, From: quit, Got: now, Outcome: knob.Applied}
	}
	back := []knob.Result{
		put(knob.Near, "feature.tso", "on", "on", "on"),
		put(knob.Near, "dev.mtu", "1500", "9000", "1500"),
		put(knob.Far, "dev.mtu", "1500", "9000", "1500"),
	}
	stuck := append([]knob.Result{}, back...)
	stuck[2].Got, stuck[2].Reason = "9000", "Device or resource busy"
	kept := sum
	kept.Kept = []knob.Result{
		put(knob.Host, "sysctl.net.core.netdev_max_backlog", "", "1000", "3000"),
		put(knob.Near, "sysctl.net.ipv4.tcp_rmem", "", "4096 131072 6291456", "4096 131072 16777216"),
	}
	byHand := Summary{Title: "lab", Spec: metric.DefaultSpec()}
	for _, r := range sceneRecords() {
		byHand.add(r)
	}
	onlyKept := Summary{Title: "lab", Spec: metric.DefaultSpec(), Kept: kept.Kept[:1]}
	for _, tt := range []struct {
		name   string
		sum    Summary
		back   []knob.Result
		failed error
		gl     chart.Glyphs
	}{
		{"all-back", sum, back, nil, chart.Braille},
		{"ascii", sum, back, nil, chart.ASCII},
		{"not-back", sum, stuck, nil, chart.Braille},
		{"failed", sum, back[:1], errors.New("far: stream to agent lost"), chart.Braille},
		{"kept", kept, back[:2], nil, chart.Braille},
		{"only-kept", onlyKept, nil, nil, chart.ASCII},
		{"turned-back-by-hand", byHand, nil, nil, chart.Braille},
		{"nothing-turned", Summary{Title: "bench-2", Spec: metric.DefaultSpec()}, nil, nil, chart.Braille},
	} {
		t.Run(tt.name, func(t *testing.T) { golden.RequireEqual(t, Farewell(tt.sum, tt.back, tt.failed, tt.gl)) })
	}
}
