package tui

import (
	"context"
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tui/pane"
	"github.com/ethtune/ethtune/tui/term"
)

// newServeBare is the screen of a server that nobody has come to yet.
func newServeBare(t testing.TB, cols, rows int, gl chart.Glyphs) *serveModel {
	feed := metric.NewFeed()
	t.Cleanup(feed.Close)
	m := newServeModel(context.Background(), ServeConfig{
		Host: "bench-2", Most: 8, Feed: feed.Reader("screen", 1),
		Serving: []metric.Listening{
			{Dialect: "native", Addr: "[::]:5202"},
			{Dialect: "iperf3", Addr: ":5201", Skipped: "listen on :5201: listen tcp :5201: bind: address already in use"},
			{Dialect: "iperf2", Addr: "[::]:5001"},
		},
		Kick: func(context.Context, int) error { return nil },
		Caps: term.Caps{Glyphs: gl, Columns: cols, Rows: rows}, Env: []string{"TERM=xterm"},
	})
	m.now, m.total = noon, pane.NewTotal(noon)
	return m
}

// visitor is a guest of the scene: what it does from its coming to its going, in seconds of the scene.
type visitor struct {
	metric.Guest
	from, to float64 // to 0 = it stays
	in, out  float64 // bit/s
}

// serveVisitors are the guests of three minutes.
func serveVisitors() []visitor {
	udp := func(g metric.Guest, jitterMs, lost, packets float64) metric.Guest {
		g.Proto, g.JitterMs, g.Lost, g.Packets = metric.UDP, metric.N(jitterMs), metric.N(lost), metric.N(packets)
		return g
	}
	return []visitor{
		{metric.Guest{ID: 1, Dialect: "iperf3", Peer: "192.168.7.21:40112", Proto: metric.TCP, Mode: metric.ModeOut, Streams: 1}, 68, 0, 934.1e6, 0},
		{udp(metric.Guest{ID: 2, Dialect: "iperf3", Peer: "192.168.7.40:40114", Mode: metric.ModeOut, Streams: 1}, 0.031, 12, 811_000), 100, 171, 934e6, 0},
		{udp(metric.Guest{ID: 3, Dialect: "iperf2", Peer: "10.0.3.9:50010", Mode: metric.ModeOut, Streams: 1}, 0.064, 10, 35_000), 140, 0, 415.2e6, 0},
		{metric.Guest{ID: 4, Dialect: "native", Peer: "[fe80::20c:29ff:fe12:3456%eth0]:41010", Proto: metric.TCP, Mode: metric.ModeIn, Streams: 4}, 169, 0, 0, 940.8e6},
		{metric.Guest{ID: 5, Dialect: "native", Peer: "10.0.3.9:50012", Proto: metric.TCP, Mode: metric.ModeBoth, Streams: 1, Reason: "connection reset by peer"}, 150, 158, 200e6, 100e6},
		{metric.Guest{ID: 6, Dialect: "native\x1b[2J", Peer: "10.0.3.7\x1b]0;x\x07:1"}, 179.6, 0, 0, 0},
	}
}

// newServeScene is a server that has served for three minutes.
func newServeScene(t testing.TB, cols, rows int, gl chart.Glyphs) *serveModel {
	m := newServeBare(t, cols, rows, gl)
	all := serveVisitors()
	for i := 1; i <= 10*sceneEnd; i++ {
		at := float64(i) / 10
		for j := range all {
			if g := all[j].at(at, i); g != nil {
				m.records(recordsMsg{recs: []metric.Record{g}, at: clockAt(at)})
			}
		}
		m.tick(clockAt(at))
	}
	return m
}

// at is what is told of a visitor at a tenth of a second, nil for nothing: that it comes, that it goes, and each second.
func (v *visitor) at(t float64, tenth int) *metric.Guest {
	g := v.Guest
	g.Time, g.Seconds = clockAt(t), t-v.from
	switch {
	case t < v.from-0.01, v.to > 0 && t > v.to+0.01:
		return nil
	case t < v.from+0.01:
		g.Event, g.Proto, g.Seconds = "in", "", 0
	case v.to > 0 && t > v.to-0.01:
		g.Event = "out"
	case tenth%10 == 5:
		g.Event = "here"
	default:
		return nil
	}
	if g.Event != "out" {
		g.Reason = ""
	}
	wave := 1 + 0.02*float64(tenth/10%5-2)
	g.RxBytes, g.TxBytes = uint64(v.in*g.Seconds/8), uint64(v.out*g.Seconds/8)
	if g.Event == "here" {
		g.RxBytes += uint64(v.in / 8 * (wave - 1) / 2)
	}
	return &g
}

func pressServe(m *serveModel, keys ...string) {
	for _, k := range keys {
		m.key(k)
		m.paint()
	}
}

// plain is the picture without styles.
func (m *serveModel) plain() string { return string(m.grid.Bytes(chart.NoStyle)) }
