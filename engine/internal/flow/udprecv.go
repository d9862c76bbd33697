package flow

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// drainFor bounds how long a receiver that is being finished waits for datagrams still in its socket or on the path.
const drainFor = 100 * time.Millisecond

// UDPReceiver counts, orders and times the datagrams of a [UDPSender].
type UDPReceiver struct {
	thread
	b     *batch
	wire  Wire
	head  Head
	drops drops

	tally struct { // written once a batch
		sync.Mutex
		w  window
		t  transit
		rx Rx
	}
}

// NewUDPReceiver takes over the connected socket fd, which [DialUDP] made. Datagrams are of up to c.Size bytes.
func NewUDPReceiver(fd int, c Config) *UDPReceiver {
	r := &UDPReceiver{b: newBatch(maxBatch, max(c.Size, c.Wire.Len()), true), wire: c.Wire}
	r.own(fd, r.receive)
	return r
}

func (r *UDPReceiver) receive() error {
	for !r.stop.Load() {
		n, err := r.b.receive(r.fd)
		if err != nil {
			if r.stop.Load() {
				return nil
			}
			if passing(err.(unix.Errno)) {
				continue
			}
			return os.NewSyscallError("receive", err)
		}
		r.count(n)
	}
	return nil
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

// count takes in a batch of n datagrams.
func (r *UDPReceiver) count(n int) {
	t := &r.tally
	t.Lock()
	defer t.Unlock()
	for i := range n {
		at, kernel := r.b.stamp(i)
		h := &r.head
		if !r.wire.Get(r.b.received(i), h) || !t.w.see(h.Seq) {
			continue
		}
		t.rx.Bytes += uint64(r.b.hdr[i].Len)
		if !h.First {
			continue
		}
		if !kernel {
			at = Wall()
			t.rx.User = true
		}
		t.t.add(at - h.Sent)
	}
}

// Rx is what arrived.
func (r *UDPReceiver) Rx(h *metric.Hist) Rx {
	r.drops.read(&r.thread)
	t := &r.tally
	t.Lock()
	defer t.Unlock()
	rx := t.rx
	rx.Packets = t.w.distinct
	rx.Expected = max(rx.Expected, t.w.next)
	rx.Drops, rx.NoDrops = r.drops.get()
	rx.JitterNs = t.t.estimate()
	if h != nil {
		t.t.take(h)
	}
	return rx
}

// Aim gives the running stream new calls.
func (r *UDPReceiver) Aim(int64, metric.Calls) error { return nil }

// Finish waits for what is still on its way, at most a tenth of a second, then ends the stream.
func (r *UDPReceiver) Finish(sent uint64) (Rx, error) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(drainFor); time.Now().Before(deadline); <-tick.C {
		if rx := r.Rx(nil); rx.Packets >= sent {
			break
		}
	}
	r.halt()
	r.drops.read(&r.thread)
	err := r.thread.Close()
	r.tally.Lock()
	// A peer's word is bounded by what it can have sent since we last heard of it: it may not invent endless loss.
	r.tally.rx.Expected = max(r.tally.w.next, min(sent, r.tally.w.next+maxTail))
	r.tally.Unlock()
	return r.Rx(nil), err
}

// maxTail bounds the loss at the tail of one stream in datagrams: 100 s of a blackout at 10 million a second.
const maxTail = 1_000_000_000

// drops keeps the 64-bit sum of a counter of 32 bits that wraps.
type drops struct {
	mu   sync.Mutex
	last uint32
	sum  uint64
	none bool
}

func (d *drops) read(t *thread) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = t.use(func(fd int) error {
		n, ok := socketDrops(fd)
		if d.none = !ok; ok {
			d.sum += uint64(n - d.last)
			d.last = n
		}
		return nil
	})
}

func (d *drops) get() (sum uint64, none bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sum, d.none
}
