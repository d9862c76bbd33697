package flow

import "github.com/ethtune/ethtune/engine/metric"

// Head is what the head of a datagram says.
type Head struct {
	Seq   uint64 // of the stream, from 0
	Sent  int64  // the sender's clock, ns; only differences mean anything to the receiver
	First bool   // it is the first of its system call, so Sent is when it left; true where the dialect does not say
	Epoch uint32 // how often the sender was given something else to do before; 0 where the dialect does not say
	End   bool   // the sender says that it was the last
}

// Wire lays out the head of a dialect's datagrams. One Wire belongs to one end of one stream and is called by its thread.
type Wire interface {
	// Put writes the head of a datagram; b is the whole datagram, of at least Len bytes.
	Put(b []byte, h *Head)
	// Get reads it; false where b is none of this stream.
	Get(b []byte, h *Head) bool
	// Len is the fewest bytes a datagram has.
	Len() int
}

// Config is one end of one load stream.
type Config struct {
	Wire  Wire  // UDP
	Size  int   // bytes a write or a datagram
	Rate  int64 // bit/s of payload; 0 = as fast as it goes
	Calls metric.Calls
}
