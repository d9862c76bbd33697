package flow

import (
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// info is TCP_INFO. The structure grows from kernel to kernel: an older one fills in less, and is not believed about what
// it left out.
type info struct {
	unix.TCPInfo
	n uint32 // bytes the kernel filled in
}

// Where the parts end that came after bytes_acked: min_rtt with 4.6, the delivery rate with 4.9, the times with 4.10.
const (
	infoAcked    = uint32(unsafe.Offsetof(unix.TCPInfo{}.Bytes_acked) + 8)
	infoMinRtt   = uint32(unsafe.Offsetof(unix.TCPInfo{}.Min_rtt) + 4)
	infoDelivery = uint32(unsafe.Offsetof(unix.TCPInfo{}.Delivery_rate) + 8)
	infoLimits   = uint32(unsafe.Offsetof(unix.TCPInfo{}.Sndbuf_limited) + 8)
)

// read asks the kernel, without a word to the Go scheduler; false where it does not say what was acknowledged.
func (i *info) read(fd int) bool {
	i.n = uint32(unsafe.Sizeof(i.TCPInfo))
	_, _, e := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&i.TCPInfo)), uintptr(unsafe.Pointer(&i.n)), 0)
	return e == 0 && i.n >= infoAcked
}

// told is what a sender's thread last told of TCP_INFO, for others to read. Zero is not told.
type told struct {
	acked, retrans atomic.Uint64
	rtt, minRtt    atomic.Uint32 // microseconds
	cwnd, delivery atomic.Uint64 // bytes, bytes a second
	busy           atomic.Uint64 // microseconds, as those that follow
	rwnd, sndbuf   atomic.Uint64
}

// store publishes i of a stream whose first base bytes were not load: what was acknowledged, not what was written, which
// leads by the send buffer.
func (t *told) store(i *info, base uint64) {
	t.acked.Store(i.Bytes_acked - min(base, i.Bytes_acked))
	t.retrans.Store(uint64(i.Total_retrans))
	t.rtt.Store(i.Rtt)
	t.cwnd.Store(uint64(i.Snd_cwnd) * uint64(i.Snd_mss))
	if i.n >= infoMinRtt && i.Min_rtt != ^uint32(0) { // before the first round trip it is all ones
		t.minRtt.Store(i.Min_rtt)
	}
	if i.n >= infoDelivery {
		t.delivery.Store(i.Delivery_rate)
	}
	if i.n >= infoLimits {
		t.busy.Store(i.Busy_time)
		t.rwnd.Store(i.Rwnd_limited)
		t.sndbuf.Store(i.Sndbuf_limited)
	}
}

func (t *told) load() Tx {
	return Tx{
		Bytes: t.acked.Load(), Retrans: t.retrans.Load(),
		RttMs:       gauge(float64(t.rtt.Load()) / 1e3),
		MinRttMs:    gauge(float64(t.minRtt.Load()) / 1e3),
		CwndBytes:   gauge(float64(t.cwnd.Load())),
		DeliveryBps: gauge(float64(t.delivery.Load()) * 8),
		BusyUs:      t.busy.Load(), RwndUs: t.rwnd.Load(), SndbufUs: t.sndbuf.Load(),
	}
}

// gauge is v, or nothing where it was not told.
func gauge(v float64) metric.Num {
	if v == 0 {
		return metric.Num{}
	}
	return metric.N(v)
}
