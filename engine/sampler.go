package engine

import (
	"fmt"
	"time"

	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/internal/host"
	"github.com/ethtune/ethtune/engine/metric"
)

// interval is how often there is a Frame.
const interval = 100 * time.Millisecond

// measures is what the sampler reads beside the streams, and what it remembers from tick to tick.
type measures struct {
	host    *host.Sampler // nil before begin
	meter   meter
	process int64 // CPU ns at the last tick
	traffic int64
	broken  string // the last stream that ended by itself, to be told once
}

// begin makes now the start of the first interval, of a host with its traffic on the interface dev.
func (m *measures) begin(dev string) {
	m.host = host.Open(host.Root, dev)
	m.meter.begin(flow.Mono())
	m.process, _ = host.ProcessCPU()
	m.traffic = flow.CPU()
}

// close lets go of what begin opened.
func (m *measures) close() {
	if m.host != nil {
		m.host.Close()
	}
}

// run samples until the Engine is closed or the peer is gone.
func (e *Engine) run() {
	defer close(e.done)
	beat := metronome{next: time.Now().Add(interval), every: interval}
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		select {
		case <-e.quit:
			return
		case <-e.session.Done():
			e.lose()
			return
		case <-timer.C:
		}
		late := beat.advance(time.Now())
		e.sample(late)
		timer.Reset(beat.wait(time.Now()))
	}
}

// lose is the end of an Engine whose peer is gone. All that sends ends now, not when the caller comes to close.
func (e *Engine) lose() {
	err := e.session.Err()
	if err == nil {
		return
	}
	e.mu.Lock()
	e.before = e.stateLocked() // which the session forgets when it is closed, and the next to take its place may not last
	e.err = err
	e.mu.Unlock()
	e.session.Halt()
	told := "traffic ended: " + err.Error()
	if n := e.unknown(); n > 0 {
		told += fmt.Sprintf("; what became of the last %d datagrams is not known", n)
	}
	e.note("%s", told)
}

// unknown is how many datagrams were sent of which a far end that tells of them has not told before it was lost. They are
// no loss: nobody knows.
func (e *Engine) unknown() uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	sent, told := e.session.Read(&metric.Hist{}).Tx.Packets, e.measures.meter.far.load.Rx.Expected
	if told == 0 {
		return 0
	}
	return sent - min(sent, told)
}

// sample reads everything once and puts the Frames into the feed.
func (e *Engine) sample(late int) {
	e.mu.Lock()
	if !e.flowing {
		e.mu.Unlock()
		return
	}
	m := &e.measures
	load := e.session.State()
	s := reading{late: late, far: e.session.Far(), jitter: &metric.Hist{}, spec: load.Spec, out: load.Out, in: load.In}
	s.load = e.session.Read(s.jitter)
	s.mono, s.wall, s.t = flow.Mono(), time.Now(), e.now()
	s.probe = e.session.Probe(s.mono)
	beside := m.host.Read(s.mono)
	s.softnet, s.cpu, s.host = beside.Drops, beside.Busy, beside.Host
	s.self = m.selfCPU(s.mono - m.meter.near.mono)
	frames := m.meter.frames(s)
	broken := e.brokenStream(s)
	e.mu.Unlock()
	for _, f := range frames {
		e.feed.Put(f)
	}
	if broken != "" {
		e.note("stream ended: %s", broken)
	}
}

// selfCPU is what this process used beside its traffic threads in the last ns nanoseconds, in percent of one processor.
func (m *measures) selfCPU(ns int64) metric.Num {
	process, ok := host.ProcessCPU()
	traffic := flow.CPU()
	used := process - m.process - (traffic - m.traffic)
	m.process, m.traffic = process, traffic
	if !ok || ns <= 0 {
		return metric.Num{}
	}
	return metric.N(100 * float64(max(used, 0)) / float64(ns))
}

// brokenStream is the reason of a stream that ended by itself since it was last asked; empty where none did.
func (e *Engine) brokenStream(s reading) string {
	now := ""
	if err := e.session.Broken(); err != nil {
		now = err.Error()
	}
	for _, st := range s.far {
		if st.Broken != "" && now == "" {
			now = "far end: " + st.Broken
		}
	}
	if now == "" || now == e.measures.broken {
		return ""
	}
	e.measures.broken = now
	return now
}
