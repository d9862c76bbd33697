package flow

import (
	"os"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// maxNap bounds one wait of a paced sender in nanoseconds, so that a new rate or the end is seen soon.
const maxNap = 20_000_000

// UDPSender sends numbered and stamped datagrams on an absolute schedule.
type UDPSender struct {
	thread
	b      *batch
	wire   Wire
	head   Head
	rate   atomic.Int64
	seq    atomic.Uint64
	taken  atomic.Uint64 // datagrams the kernel took
	missed atomic.Uint64
}

// NewUDPSender takes over the connected socket fd. Datagrams are of c.Size bytes, at least the Wire's Len.
func NewUDPSender(fd int, c Config) *UDPSender {
	u := &UDPSender{b: newBatch(maxBatch, max(c.Size, c.Wire.Len()), false), wire: c.Wire}
	u.rate.Store(c.Rate)
	u.own(fd, u.send)
	return u
}

func (u *UDPSender) send() error {
	// Timers of a normal thread are rounded up by 50 us, which is more than one gap at 1 Gbit/s.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	defer unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // the thread goes back to the runtime
	var s schedule
	var seq, taken uint64
	for !u.stop.Load() {
		n := uint64(u.b.len())
		if rate := u.rate.Load(); rate > 0 {
			now := Mono()
			if rate != s.rate {
				s.rebase(now, seq, rate, u.b.size)
			}
			if n = min(s.due(now, seq), n); n == 0 {
				nap(now, min(s.at(seq), now+maxNap))
				continue
			}
		} else {
			s.rate = 0
		}
		u.fill(seq, int(n))
		sent, err := u.b.send(u.fd, int(n))
		seq += uint64(sent)
		taken += uint64(sent)
		if err != nil {
			refused, wait, fatal := refusal(err.(unix.Errno))
			switch {
			case u.stop.Load():
				return nil
			case fatal:
				return os.NewSyscallError("send", err)
			case refused:
				seq++
			}
			if wait > 0 && s.rate == 0 {
				now := Mono()
				nap(now, now+wait)
			}
		}
		u.seq.Store(seq)
		u.taken.Store(taken)
		u.missed.Store(s.missed)
	}
	return nil
}

// refusal sorts an error of send: whether a datagram was lost to it, how long a sender without a rate should wait, and
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

// fill writes the headers of n datagrams from seq on.
func (u *UDPSender) fill(seq uint64, n int) {
	u.head = Head{Sent: Wall(), First: true}
	for i := range n {
		u.head.Seq = seq + uint64(i)
		u.wire.Put(u.b.data(i), &u.head)
		u.head.First = false
	}
}

// Aim gives the running stream a new rate in bit/s of payload, 0 is as fast as it goes, and new calls.
func (u *UDPSender) Aim(bps int64, _ metric.Calls) error {
	u.rate.Store(bps)
	return nil
}

// Tx is what was sent.
func (u *UDPSender) Tx() Tx {
	taken := u.taken.Load()
	seq := max(u.seq.Load(), taken)
	return Tx{Bytes: taken * uint64(u.b.size), Packets: seq, Refused: seq - taken, Missed: u.missed.Load()}
}
