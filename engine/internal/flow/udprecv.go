package flow

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

const (
	// drainFor bounds how long a receiver that is being finished waits for datagrams still in its socket or on the path.
	drainFor = 100 * time.Millisecond
	// maxTail bounds the loss at the tail of one stream in datagrams: 100 s of a blackout at 10 million a second.
	maxTail = 1_000_000_000
)

// UDPReceiver counts, orders and times the datagrams of a [UDPSender].
type UDPReceiver struct {
	thread
	aim   aim
	wire  Wire
	size  int // bytes a datagram at most
	drops drops

	// What follows belongs to the thread.
	b    *batch
	mode receiveMode
	wide bool // b has room for trains
	head Head

	tally struct { // written once a batch
		sync.Mutex
		w        window
		t        transit
		rx       Rx
		lag      metric.Hist
		messages uint64
	}
}

// NewUDPReceiver takes over the connected socket fd, which [DialUDP] made. Datagrams are of up to c.Size bytes; c.Rate is
// the sender's.
func NewUDPReceiver(fd int, c Config) *UDPReceiver {
	r := &UDPReceiver{wire: c.Wire, size: max(c.Size, c.Wire.Len())}
	r.aim.now.Store(newGoal(c))
	r.own(fd, c.Calls.Affinity, r.receive)
	return r
}

func (r *UDPReceiver) receive() error {
	var g *goal
	for !r.stop.Load() {
		if now := r.aim.now.Load(); now != g {
			g = now
			r.adopt(g)
		}
		n, err := r.b.receive(r.fd)
		switch {
		case err == nil:
			r.count(n)
		case r.stop.Load():
			return nil
		case !passing(err.(unix.Errno)):
			return os.NewSyscallError("receive", err)
		}
		if r.wide && !r.mode.gro && n < r.b.len() {
			r.lay() // no train is left in the socket
		}
	}
	return nil
}

// adopt takes up the goal g.
func (r *UDPReceiver) adopt(g *goal) {
	m := planReceive(g, r.size)
	if m.gro != r.mode.gro && setGRO(r.fd, m.gro) != nil && m.gro {
		one := *g // a kernel before 5.0 hands over datagrams
		one.calls.GRO = metric.Off
		m = planReceive(&one, r.size)
	}
	if m != r.mode {
		r.mode = m
		// While trains lie in the socket there has to be room for them.
		if m.gro || !r.wide {
			r.lay()
		}
	}
	r.tally.Lock()
	r.tally.rx.Batch, r.tally.rx.GRO = m.batch, m.gro
	r.tally.Unlock()
}

// lay makes the memory that the mode needs.
func (r *UDPReceiver) lay() {
	size := r.size
	if r.wide = r.mode.gro; r.wide {
		size = trainBytes
	}
	r.b = newBatch(r.mode.batch, size, true)
}

// setGRO has the kernel hand over trains on fd, or cut those that come.
func setGRO(fd int, on bool) error {
	v := 0
	if on {
		v = 1
	}
	return unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_GRO, v)
}

// passing reports whether an error of receive is a time limit, or an ICMP answer to something sent earlier.
func passing(e unix.Errno) bool {
	switch e {
	case unix.EAGAIN, unix.EINTR, unix.ECONNREFUSED, unix.EHOSTUNREACH, unix.ENETUNREACH, unix.EHOSTDOWN, unix.ENETDOWN,
		unix.EPROTO, unix.EMSGSIZE, unix.EOPNOTSUPP, unix.EACCES, unix.ENOPROTOOPT:
		return true
	}
	return false
}

// count takes in a batch of n messages.
func (r *UDPReceiver) count(n int) {
	now := Wall()
	t := &r.tally
	t.Lock()
	defer t.Unlock()
	t.rx.Calls++
	t.messages += uint64(n)
	for i := range n {
		c := r.b.control(i)
		if c.stamped {
			t.lag.Add(now - c.at)
		}
		if c.segment == 0 && r.wide {
			c.segment = r.size // a train that came before UDP_GRO was taken off: the kernel no longer says its size
		}
		r.cut(r.b.received(i), c, now)
	}
}

// cut counts the datagrams of a message. Its stamp is the first's.
func (r *UDPReceiver) cut(msg []byte, c control, now int64) {
	if c.segment == 0 || c.segment >= len(msg) {
		r.datagram(msg, c, now, true)
		return
	}
	r.datagram(msg[:c.segment], c, now, true)
	for msg = msg[c.segment:]; len(msg) > 0; {
		d := msg[:min(c.segment, len(msg))]
		r.datagram(d, c, now, false)
		msg = msg[len(d):]
	}
}

// datagram counts one, which is the first of its message or not.
func (r *UDPReceiver) datagram(d []byte, c control, now int64, first bool) {
	t, h := &r.tally, &r.head
	if !r.wire.Get(d, h) {
		return
	}
	if h.End {
		if t.rx.Ended && h.Seq < t.w.next {
			return // it is sent again and again until the sender knows that it arrived
		}
		t.rx.Ended = true
	}
	latest := h.Seq >= t.w.next
	if !t.w.see(h.Seq) {
		return
	}
	t.rx.Bytes += uint64(len(d))
	if latest {
		t.rx.Epoch = h.Epoch
	}
	if !first || !h.First {
		return
	}
	if !c.stamped {
		c.at = now
		t.rx.User = true
	}
	t.t.add(c.at - h.Sent)
}

// Rx is what arrived.
func (r *UDPReceiver) Rx(h *metric.Hist) Rx {
	rx, messages := r.state(h)
	r.drops.read(&r.thread, rx.Packets, messages)
	rx.Drops, rx.NoDrops = r.drops.get()
	return rx
}

// state is what was counted, and in how many messages it came.
func (r *UDPReceiver) state(h *metric.Hist) (Rx, uint64) {
	t := &r.tally
	t.Lock()
	defer t.Unlock()
	rx := t.rx
	rx.Packets, rx.Reordered, rx.Extent, rx.Duplicates = t.w.distinct, t.w.late, t.w.extent, t.w.copies
	rx.Expected = max(rx.Expected, t.w.next)
	rx.JitterNs = t.t.estimate()
	if h != nil {
		t.t.take(h)
		if t.lag.N() > 0 {
			lag := t.lag
			rx.Lag = &lag
			t.lag.Reset()
		}
	}
	return rx, t.messages
}

// Aim gives the running stream new calls; bps is the sender's rate.
func (r *UDPReceiver) Aim(bps int64, c metric.Calls) error {
	r.aim.set(bps, c)
	return nil
}

// Finish waits for what is still on its way, at most a tenth of a second, then ends the stream.
func (r *UDPReceiver) Finish(sent uint64) (Rx, error) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(drainFor); time.Now().Before(deadline); <-tick.C {
		if rx, _ := r.state(nil); rx.Packets >= sent {
			break
		}
	}
	r.halt()
	rx, messages := r.state(nil)
	r.drops.read(&r.thread, rx.Packets, messages)
	err := r.thread.Close()
	r.tally.Lock()
	// A peer's word is bounded by what it can have sent since we last heard of it: it may not invent endless loss.
	r.tally.rx.Expected = max(r.tally.w.next, min(sent, r.tally.w.next+maxTail))
	r.tally.Unlock()
	return r.Rx(nil), err
}
