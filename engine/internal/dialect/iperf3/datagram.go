package iperf3

import (
	"encoding/binary"

	"github.com/ethtune/ethtune/engine/internal/flow"
)

// Sizes of a datagram's head in bytes: seconds, microseconds, and a sequence number of 32 or 64 bits.
const (
	header32 = 12
	header64 = 16
)

// header is how long the heads of the test's datagrams are.
func (p *params) header() int {
	if p.Counters64 > 0 {
		return header64
	}
	return header32
}

// datagram is the [flow.Wire] of one end of a stream. Sequence numbers begin at 1 on the wire.
type datagram struct {
	size int    // of the head
	last uint64 // 32-bit: the highest sequence number so far, by which one that wrapped is told
}

// Put writes the head. The clock is the sender's own; microseconds are all the layout has room for.
func (d *datagram) Put(b []byte, h *flow.Head) {
	us := h.Sent / 1e3
	_ = b[header32-1]
	binary.BigEndian.PutUint32(b, uint32(us/1e6))
	binary.BigEndian.PutUint32(b[4:], uint32(us%1e6))
	if d.size == header64 {
		binary.BigEndian.PutUint64(b[8:], h.Seq+1)
	} else {
		binary.BigEndian.PutUint32(b[8:], uint32(h.Seq+1))
	}
}

// Get reads it. A second hello is too short to be one, and number 0 is nobody's.
func (d *datagram) Get(b []byte, h *flow.Head) bool {
	if len(b) < d.size {
		return false
	}
	var seq uint64
	if d.size == header64 {
		seq = binary.BigEndian.Uint64(b[8:])
	} else {
		seq = d.widen(binary.BigEndian.Uint32(b[8:]))
	}
	if seq == 0 {
		return false
	}
	sec, us := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	*h = flow.Head{Seq: seq - 1, Sent: int64(sec)*1e9 + int64(us)*1e3, First: true}
	return true
}

// Len is the size of the head.
func (d *datagram) Len() int { return d.size }

// widen makes a 64-bit number of the low half: the one that is nearest to the highest so far.
func (d *datagram) widen(low uint32) uint64 {
	seq := d.last + uint64(int64(int32(low-uint32(d.last))))
	if int64(seq) < 0 { // from before the first
		return 0
	}
	d.last = max(d.last, seq)
	return seq
}
