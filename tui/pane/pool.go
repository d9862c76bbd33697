package pane

import (
	"math"

	"github.com/ethtune/ethtune/engine/metric"
)

const (
	// poolReading is how many packets a loss reading covers at least: its resolution is then 0.1 %.
	poolReading = 1000
	// poolFrames bounds the Frames it may take to get there.
	poolFrames = 600
	// poolSample is how many packets one sample of the loss chart covers at least, unless a second went by first.
	poolSample = 200
)

// tally counts packets and those that were lost.
type tally struct{ lost, packets float64 }

func (t tally) pct() float64 {
	if t.packets == 0 {
		return math.NaN()
	}
	return 100 * t.lost / t.packets
}

// pool gathers loss counts until they mean something. Twenty probes of one tick with one lost are not "5 % loss".
type pool struct {
	recent []tally // newest last, just enough for a reading
	sum    tally   // of recent
	block  tally   // since the last sample
	span   float64 // seconds in block
}

// add takes the counts of a Frame and returns the next sample for the chart, if it is full.
func (p *pool) add(f *metric.Frame) (pct float64, ok bool) {
	t := tally{lost: f.Lost.Or(0), packets: f.Packets.Or(0)}
	if f.Packets.IsZero() {
		t = tally{}
	}
	p.recent = append(p.recent, t)
	p.sum.lost, p.sum.packets = p.sum.lost+t.lost, p.sum.packets+t.packets
	for len(p.recent) > poolFrames || (len(p.recent) > 1 && p.sum.packets-p.recent[0].packets >= poolReading) {
		p.sum.lost, p.sum.packets = p.sum.lost-p.recent[0].lost, p.sum.packets-p.recent[0].packets
		p.recent = append(p.recent[:0], p.recent[1:]...)
	}
	p.block.lost, p.block.packets = p.block.lost+t.lost, p.block.packets+t.packets
	p.span += f.Span
	if p.block.packets < poolSample && p.span < wholeSecond {
		return 0, false
	}
	pct = p.block.pct()
	p.block, p.span = tally{}, 0
	return pct, true
}

// reading is the loss over the newest packets, NaN before there are enough.
func (p *pool) reading() float64 {
	if p.sum.packets < poolReading {
		return math.NaN()
	}
	return math.Max(0, p.sum.pct())
}
