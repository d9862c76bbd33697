package flow

import "encoding/binary"

// Sizes of what the datagrams carry, in bytes.
const (
	HeaderSize = 32 // of every datagram of load; metric.MinUDPSize
	ProbeSize  = 64 // of a probe datagram and of its echo, so that an echo is never larger than what asked for it
)

// Kinds of datagrams. The digit is the version of the layout.
const (
	kindLoad  = 0x45544c32 // "ETL2"
	kindProbe = 0x45545031 // "ETP1"
	kindEcho  = 0x45544531 // "ETE1"
)

// Flags of a header.
const (
	// flagHead marks the first datagram of a system call. Only its send stamp says when it was sent: the others wait in
	// the batch, so jitter is taken from heads alone.
	flagHead = 1 << 0
	// flagKernel marks an echo whose receive stamp is the kernel's.
	flagKernel = 1 << 1
	// flagEnd marks the last datagram of a stream.
	flagEnd = 1 << 2
	// epochShift is where the upper half begins, which says by what setting a datagram of load was sent. It wraps.
	epochShift = 16
)

// header begins every datagram, big endian: kind, stream, sequence, send stamp, flags, tag.
type header struct {
	kind  uint32
	id    uint32
	seq   uint64
	sent  int64 // CLOCK_REALTIME ns of the sender
	flags uint32
	tag   uint32 // of the session, so that a stray datagram is not counted
}

func (h *header) put(b []byte) {
	_ = b[HeaderSize-1]
	binary.BigEndian.PutUint32(b[0:], h.kind)
	binary.BigEndian.PutUint32(b[4:], h.id)
	binary.BigEndian.PutUint64(b[8:], h.seq)
	binary.BigEndian.PutUint64(b[16:], uint64(h.sent))
	binary.BigEndian.PutUint32(b[24:], h.flags)
	binary.BigEndian.PutUint32(b[28:], h.tag)
}

// get reads b and reports whether it is long enough to be a header; whether it is ours is for the caller to see.
func (h *header) get(b []byte) bool {
	if len(b) < HeaderSize {
		return false
	}
	h.kind = binary.BigEndian.Uint32(b[0:])
	h.id = binary.BigEndian.Uint32(b[4:])
	h.seq = binary.BigEndian.Uint64(b[8:])
	h.sent = int64(binary.BigEndian.Uint64(b[16:]))
	h.flags = binary.BigEndian.Uint32(b[24:])
	h.tag = binary.BigEndian.Uint32(b[28:])
	return true
}

// Native is the [Wire] of our own dialect: datagrams of the stream id of a session whose token has this tag.
type Native struct {
	h header
}

// NewNative is the Wire of one end.
func NewNative(id, tag uint32) *Native { return &Native{header{kind: kindLoad, id: id, tag: tag}} }

// Put writes the head.
func (w *Native) Put(b []byte, h *Head) {
	w.h.seq, w.h.sent, w.h.flags = h.Seq, h.Sent, h.Epoch<<epochShift
	if h.First {
		w.h.flags |= flagHead
	}
	if h.End {
		w.h.flags |= flagEnd
	}
	w.h.put(b)
}

// Get reads it. Of the epoch only the lower 16 bits arrive.
func (w *Native) Get(b []byte, h *Head) bool {
	var in header
	if !in.get(b) || in.kind != w.h.kind || in.id != w.h.id || in.tag != w.h.tag {
		return false
	}
	*h = Head{Seq: in.seq, Sent: in.sent, First: in.flags&flagHead != 0, Epoch: in.flags >> epochShift, End: in.flags&flagEnd != 0}
	return true
}

// Len is [HeaderSize].
func (w *Native) Len() int { return HeaderSize }

// echo is what the far end adds to a probe datagram behind its header.
type echo struct {
	count    uint64 // probe datagrams that arrived there so far
	received int64  // CLOCK_REALTIME ns there
	sent     int64  // CLOCK_REALTIME ns there
}

func (e *echo) put(b []byte) {
	_ = b[ProbeSize-1]
	binary.BigEndian.PutUint64(b[32:], e.count)
	binary.BigEndian.PutUint64(b[40:], uint64(e.received))
	binary.BigEndian.PutUint64(b[48:], uint64(e.sent))
}

func (e *echo) get(b []byte) bool {
	if len(b) < ProbeSize {
		return false
	}
	e.count = binary.BigEndian.Uint64(b[32:])
	e.received = int64(binary.BigEndian.Uint64(b[40:]))
	e.sent = int64(binary.BigEndian.Uint64(b[48:]))
	return true
}
