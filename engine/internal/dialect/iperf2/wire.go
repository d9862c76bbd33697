package iperf2

import (
	"encoding/binary"
	"sync/atomic"
	"time"

	"github.com/ethtune/ethtune/engine/internal/flow"
)

const (
	// headSize is id low, seconds, microseconds and id high of a datagram.
	headSize = 16
	// dataSize is the fewest bytes of a datagram of ours: the head and the flags that make its id one of 64 bits.
	dataSize = headSize + 4
	// quietSize is how far into a datagram or a stream a server looks for words to it. What we have no words for is 0.
	quietSize = 128
	// maxLeap bounds how far a datagram's number may be ahead of the last one: 100 s of a blackout at 10 million a second.
	// What is further ahead is not of this stream.
	maxLeap = 1_000_000_000
)

// wire is the [flow.Wire] of a stream. A sender and a receiver have one of their own.
type wire struct {
	first int64 // number of the first datagram: 1 from version 2.1 on, 0 before
	wide  bool  // numbers are of 64 bits
	last  int64 // the highest number seen

	fin  atomic.Int64  // the number of the datagram by which the sender ended; 0 before
	over chan struct{} // closed when fin is set
}

func newWire(first int64, wide bool) *wire {
	return &wire{first: first, wide: wide, last: first, over: make(chan struct{})}
}

// Put writes the head of a datagram, and zeros over what a server would look at.
func (w *wire) Put(b []byte, h *flow.Head) {
	putHead(b, int64(h.Seq)+w.first, h.Sent)
	binary.BigEndian.PutUint32(b[headSize:], flagWide)
	clear(b[dataSize:min(len(b), quietSize)])
}

// Get reads it. The last datagram, whose number is negative, is noted and is not one of the stream.
func (w *wire) Get(b []byte, h *flow.Head) bool {
	id, sent, ok := parseHead(b, w.wide)
	if !ok {
		return false
	}
	if max(id, -id) > w.last+maxLeap {
		return false
	}
	if id < 0 {
		w.finish(-id)
		return false
	}
	if id < w.first {
		return false
	}
	w.last = max(w.last, id)
	*h = flow.Head{Seq: uint64(id - w.first), Sent: sent, First: true}
	return true
}

// Len is [dataSize].
func (w *wire) Len() int { return dataSize }

// finish notes the number of the last datagram, for whichever goroutine comes first: clients before the report count on with each that they repeat.
func (w *wire) finish(id int64) {
	if w.fin.CompareAndSwap(0, max(id, 1)) {
		close(w.over)
	}
}

// sent is how many datagrams the sender says it sent, the last one aside; 0 where it did not say.
func (w *wire) sent() uint64 {
	if id := w.fin.Load(); id > w.first {
		return uint64(id - w.first)
	}
	return 0
}

func putHead(b []byte, id, sent int64) {
	binary.BigEndian.PutUint32(b[0:], uint32(id))
	binary.BigEndian.PutUint32(b[4:], uint32(sent/int64(time.Second)))
	binary.BigEndian.PutUint32(b[8:], uint32(sent%int64(time.Second)/int64(time.Microsecond)))
	binary.BigEndian.PutUint32(b[12:], uint32(id>>32))
}

// parseHead reads the number of a datagram and when it was sent in ns of the sender's clock; false where b is no datagram
// of iperf 2.
func parseHead(b []byte, wide bool) (id, sent int64, ok bool) {
	// 2.0.9 and before have no high part of the number: 12 bytes.
	if len(b) < headSize-4 || wide && len(b) < headSize {
		return 0, 0, false
	}
	id = int64(int32(binary.BigEndian.Uint32(b)))
	if wide {
		id = int64(int32(binary.BigEndian.Uint32(b[12:])))<<32 | int64(uint32(id))
	}
	us := binary.BigEndian.Uint32(b[8:])
	if us >= 1_000_000 || id == -1<<63 {
		return 0, 0, false
	}
	return id, int64(binary.BigEndian.Uint32(b[4:]))*int64(time.Second) + int64(us)*int64(time.Microsecond), true
}
