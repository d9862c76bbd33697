package flow

import (
	"os"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// maxNap bounds one wait of a paced sender in nanoseconds, so that a new rate or the end is seen soon.
const maxNap = 10_000_000

// UDPSender sends numbered and stamped datagrams on an absolute schedule.
type UDPSender struct {
	thread
	aim  aim
	wire Wire
	size int // bytes a datagram

	// What follows belongs to the thread.
	b     *batch
	mode  sendMode
	plain bool // this path cannot do UDP_SEGMENT
	head  Head
	s     schedule
	spin  int64 // how long before its time a wait becomes a spin, ns

	seq    atomic.Uint64
	taken  atomic.Uint64 // datagrams the kernel took
	missed atomic.Uint64
	calls  atomic.Uint64
	used   atomic.Pointer[usedMode]
}

// usedMode is the mode in use, as it is told.
type usedMode struct {
	sendMode
	plain bool
}

// NewUDPSender takes over the connected socket fd. Datagrams are of c.Size bytes, at least the Wire's Len.
func NewUDPSender(fd int, c Config) *UDPSender {
	u := &UDPSender{wire: c.Wire, size: max(c.Size, c.Wire.Len())}
	u.aim.now.Store(newGoal(c))
	u.used.Store(&usedMode{})
	u.own(fd, c.Calls.Affinity, u.send)
	return u
}

func (u *UDPSender) send() error {
	// Timers of a normal thread are rounded up by 50 us, which is more than one gap at 1 Gbit/s.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	defer unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // the thread goes back to the runtime
	var g *goal
	var seq, taken uint64
	for !u.stop.Load() {
		if now := u.aim.now.Load(); now != g {
			g = now
			u.adopt(g, seq)
		}
		n := u.b.len() * u.mode.gso
		if g.rate > 0 {
			if n = u.due(seq, n); n == 0 {
				continue
			}
		}
		u.fill(seq, n)
		sent, err := u.put(n)
		u.calls.Add(1)
		seq += uint64(sent)
		taken += uint64(sent)
		if err != nil {
			e := err.(unix.Errno)
			if u.mode.gso > 1 && noTrains(e) {
				u.plain = true
				u.adopt(g, seq)
				continue
			}
			refused, wait, fatal := refusal(e)
			switch {
			case u.stop.Load():
				return nil
			case fatal:
				return os.NewSyscallError("send", err)
			case refused:
				seq += uint64(u.mode.gso)
			}
			if wait > 0 && g.rate == 0 {
				now := Mono()
				nap(now, now+wait)
			}
		}
		u.seq.Store(seq)
		u.taken.Store(taken)
		u.missed.Store(u.s.missed)
	}
	return nil
}

// adopt takes up the goal g with datagram seq. What was due and not sent before is forgotten, so that no change makes a
// burst.
func (u *UDPSender) adopt(g *goal, seq uint64) {
	m := planSend(g, u.size)
	if m.gso > 1 && !u.plain {
		u.plain = setTrains(u.fd, u.size) != nil
	}
	if m.gso > 1 && u.plain {
		one := *g
		one.calls.GSO = 1
		m = planSend(&one, u.size)
	}
	if m.gso == 1 && u.mode.gso > 1 {
		_ = setTrains(u.fd, 0) // harmless where it stays: nothing is sent that is longer than a datagram
	}
	if m != u.mode {
		u.b, u.mode = newBatch(m.batch, m.gso*u.size, false), m
	}
	u.head.Epoch = g.epoch
	if g.rate > 0 {
		u.s.rebase(Mono(), seq, g.rate, u.size)
		u.spin = spinFor(g, u.size*m.gso, runtime.NumCPU())
	}
	u.used.Store(&usedMode{sendMode: m, plain: u.plain})
}

// setTrains has the kernel cut what is sent on fd into datagrams of size bytes; 0 ends it.
func setTrains(fd, size int) error {
	return unix.SetsockoptInt(fd, unix.IPPROTO_UDP, unix.UDP_SEGMENT, size)
}

// noTrains reports whether the kernel refused a train because it was one: the device computes no checksums (EIO), the
// datagrams do not fit the MTU (EINVAL, EMSGSIZE since 6.14), or it knows no UDP_SEGMENT here.
func noTrains(e unix.Errno) bool {
	switch e {
	case unix.EIO, unix.EINVAL, unix.EMSGSIZE, unix.ENOPROTOOPT, unix.EOPNOTSUPP:
		return true
	}
	return false
}

// due is how many datagrams from seq on are to be sent now: whole trains, n at most. Where there are none it waits, not
// longer than [maxNap].
func (u *UDPSender) due(seq uint64, n int) int {
	now := Mono()
	train := uint64(u.mode.gso)
	k := min(u.s.due(now, seq), uint64(n))
	if k -= k % train; k == 0 {
		await(now, min(u.s.at(seq+train-1), now+maxNap), u.spin)
	}
	return int(k)
}

// put sends the first n datagrams and returns how many the kernel took.
func (u *UDPSender) put(n int) (int, error) {
	if n == 1 {
		return u.b.write(u.fd)
	}
	sent, err := u.b.send(u.fd, n/u.mode.gso)
	return sent * u.mode.gso, err
}

// refusal sorts an error of send: whether a message was lost to it, how long a sender without a rate should wait, and
// whether the stream is over. Links flap while they are tuned, so what may pass is not fatal.
func refusal(e unix.Errno) (refused bool, wait int64, fatal bool) {
	switch e {
	case unix.EAGAIN, unix.EINTR:
		return false, 0, false
	case unix.ENOBUFS, unix.ENOMEM:
		return true, 50_000, false
	case unix.ECONNREFUSED, unix.ENETDOWN, unix.ENETUNREACH, unix.EHOSTDOWN, unix.EHOSTUNREACH, unix.EPERM, unix.EACCES,
		unix.ENODEV, unix.ENXIO, unix.EPROTO, unix.EOPNOTSUPP:
		return true, 1_000_000, false
	}
	return false, 0, true
}

// fill writes the heads of n datagrams from seq on.
func (u *UDPSender) fill(seq uint64, n int) {
	u.head.Sent, u.head.First = Wall(), true
	for i := range n {
		u.head.Seq = seq + uint64(i)
		u.wire.Put(u.b.buf[i*u.size:(i+1)*u.size], &u.head)
		u.head.First = false
	}
}

// Aim gives the running stream a new rate in bit/s of payload, 0 is as fast as it goes, and new calls. Both take effect
// within [maxNap].
func (u *UDPSender) Aim(bps int64, c metric.Calls) error {
	u.aim.set(bps, c)
	return nil
}

// Tx is what was sent.
func (u *UDPSender) Tx() Tx {
	taken := u.taken.Load()
	seq := max(u.seq.Load(), taken)
	m := u.used.Load()
	return Tx{Bytes: taken * uint64(u.size), Packets: seq, Refused: seq - taken, Missed: u.missed.Load(),
		Calls: u.calls.Load(), Batch: m.batch, GSO: m.gso, NoGSO: m.plain, Epoch: u.aim.now.Load().epoch}
}
