package dialect

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// ErrFull is what a guest is told who comes when as many are there as the rules allow.
var ErrFull = errors.New("the server is busy")

// House is where all servers of one process receive their guests. The zero House is ready, has no rules, and is nobody's
// to close. Its methods may be called by any goroutine.
type House struct {
	Rules metric.Rules
	// Told, if set, hears of every guest that comes in and goes, and of all of them at each Tell, in that order. It must not
	// wait, nor call a method of the House.
	Told func(metric.Guest)

	mu     sync.Mutex
	last   int
	guests map[int]*Guest
}

// Guest is one session of a server. Its fields are set before Enter and then left alone, but for what Describe changes.
type Guest struct {
	Dialect string
	Peer    string       // address:port
	Load    *flow.Ledger // its streams at this end
	// Kick ends the session for the reason. It is called by any goroutine, perhaps more than once, and does not wait.
	Kick func(reason string)

	house  *House
	id     int
	since  time.Time
	timer  *time.Timer
	proto  metric.Proto
	mode   metric.Mode
	n      int
	jitter metric.Num // ms: the jitter that was last seen
}

// Enter lets g in, or says why not with an error that is [ErrFull]. Each guest that was let in must Leave.
func (h *House) Enter(g *Guest) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	limit := min(h.Rules.Sessions, metric.MaxSessions)
	if limit <= 0 {
		limit = metric.MaxSessions
	}
	switch {
	case h.Rules.Once && h.last > 0:
		return fmt.Errorf("%w: it serves one session, and has", ErrFull)
	case len(h.guests) >= limit:
		return fmt.Errorf("%w: it has as many sessions as it may, %d", ErrFull, limit)
	}
	if h.guests == nil {
		h.guests = make(map[int]*Guest)
	}
	h.last++
	g.house, g.id, g.since = h, h.last, time.Now()
	h.guests[g.id] = g
	if d := h.Rules.Time; d > 0 {
		g.timer = time.AfterFunc(d, func() { g.Kick(fmt.Sprintf("the server ends a session after %v", d)) })
	}
	h.tell(g.seen("in"))
	return nil
}

// Describe says what g's load is, once that is known.
func (g *Guest) Describe(proto metric.Proto, mode metric.Mode, streams int) {
	g.house.mu.Lock()
	g.proto, g.mode, g.n = proto, mode, streams
	g.house.mu.Unlock()
}

// Look takes note of the jitter before the streams are ended that it is of. Without them there is none to tell of when g
// leaves.
func (g *Guest) Look() {
	g.house.mu.Lock()
	defer g.house.mu.Unlock()
	g.seen("here")
}

// Leave is the end of g's session; reason is empty where it ended as it should.
func (g *Guest) Leave(reason string) {
	h := g.house
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.guests[g.id] != g {
		return
	}
	delete(h.guests, g.id)
	if g.timer != nil {
		g.timer.Stop()
	}
	seen := g.seen("out")
	seen.Reason = reason
	h.tell(seen)
}

// Tell tells of all who are there.
func (h *House) Tell() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.present() {
		h.tell(g)
	}
}

// tell is called with mu held: what is told of a guest that has left already would bring it back to whoever listens.
func (h *House) tell(g metric.Guest) {
	if h.Told != nil {
		h.Told(g)
	}
}

// Guests lists who is there, in the order they came.
func (h *House) Guests() []metric.Guest {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.present()
}

// present is Guests for one who holds mu.
func (h *House) present() []metric.Guest {
	out := make([]metric.Guest, 0, len(h.guests))
	for _, g := range h.guests {
		out = append(out, g.seen("here"))
	}
	slices.SortFunc(out, func(a, b metric.Guest) int { return a.ID - b.ID })
	return out
}

// Kick ends the session of the guest of that id; false where there is none.
func (h *House) Kick(id int, reason string) bool {
	h.mu.Lock()
	g := h.guests[id]
	h.mu.Unlock()
	if g != nil {
		g.Kick(reason)
	}
	return g != nil
}

// seen is what there is to be seen of g. The caller holds the house's mu.
func (g *Guest) seen(event string) metric.Guest {
	now := time.Now()
	m := metric.Guest{ID: g.id, Event: event, Time: now, Dialect: g.Dialect, Peer: g.Peer, Proto: g.proto, Mode: g.mode,
		Streams: g.n, Seconds: now.Sub(g.since).Seconds()}
	r := g.Load.Read(nil)
	m.TxBytes, m.RxBytes = r.Tx.Bytes, r.Rx.Bytes
	if g.proto == metric.UDP {
		m.Lost, m.Packets = metric.N(float64(r.Rx.Lost())), metric.N(float64(r.Rx.Expected))
		if ns, ok := r.Rx.JitterNs.Get(); ok {
			g.jitter = metric.N(ns / 1e6)
			m.JitterMs = g.jitter
		} else if event == "out" {
			m.JitterMs = g.jitter
		}
	}
	return m
}
