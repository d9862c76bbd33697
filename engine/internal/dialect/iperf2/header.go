package iperf2

import (
	"encoding/binary"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
)

// Flags of a [header], its first word.
const (
	flagVersion1 = 0x80000000 // -d or -r: the server shall connect back
	flagExtend   = 0x40000000
	flagUDPTests = 0x20000000
	flagKey      = 0x10000000
	flagWide     = 0x08000000 // SEQNO64B: the numbers of datagrams have 64 bits
	flagVersion2 = 0x04000000
	flagLen      = 0x00010000 // bits 1 to 8 are the length
	lenMask      = 0x000001fe
)

// Flags of a header's upperflags.
const (
	upperReverse    = 0x0400
	upperFullDuplex = 0x0800
)

const (
	// headerSize is the header of 2.1.8; later ones add what we do not ask for.
	headerSize = 60
	// baseSize is the header of those that say no length and nothing of an extension.
	baseSize = 24
	// versionOne is the upper half of the version of those that have -R: 2.
	versionOne = 2
	version    = versionOne<<16 | 1 // 2.1
	release    = 8<<16 | 3          // .8, released
)

// amountUnit is what time is told in.
const amountUnit = 10 * time.Millisecond

// header is what a client wants, at the head of a TCP stream and behind the [headSize] bytes of each UDP datagram.
type header struct {
	flags  uint32
	size   int           // bytes a write or a datagram; 0 = the server's own choice
	time   time.Duration // how long; 0 = until so many bytes
	bytes  uint64        // how many; 0 = so long
	upper  uint16
	rate   int64 // bit/s of each stream; 0 = as fast as it goes
	modern bool  // it is of a version that knows upper
}

// headerLen is how many bytes of header the flags announce; 0 where none that makes sense.
func headerLen(flags uint32, udp bool) int {
	if flags&(flagVersion1|flagExtend|flagVersion2|flagKey) == 0 {
		return 0
	}
	n := baseSize
	if flags&flagExtend != 0 {
		n = headerSize
	}
	if flags&flagLen != 0 {
		n = int(flags & lenMask >> 1)
		if udp {
			n -= headSize
		}
	}
	if n < baseSize {
		return 0
	}
	return n
}

// parseHeader reads what a client wants from the head of its stream. Payload that is not meant as words looks like
// anything, so a header that is not wholly plausible says nothing.
func parseHeader(b []byte, udp bool) header {
	if len(b) < 4 {
		return header{}
	}
	flags := binary.BigEndian.Uint32(b)
	n := headerLen(flags, udp)
	if n == 0 || len(b) < n || udp != (flags&flagWide != 0) && flags&flagLen != 0 {
		return header{}
	}
	h := header{flags: flags, size: int(binary.BigEndian.Uint32(b[12:]))}
	port := binary.BigEndian.Uint32(b[8:])
	if port > 65535 || h.size < 0 || h.size > metric.MaxTCPSize {
		return header{}
	}
	if amount := int64(int32(binary.BigEndian.Uint32(b[20:]))); amount < 0 {
		h.time = time.Duration(-amount) * amountUnit
	} else {
		h.bytes = uint64(amount)
	}
	if n < headerSize {
		return h
	}
	// Before 2.1 there are a type and a length here, and what follows them means something else.
	if binary.BigEndian.Uint64(b[24:]) != 0 || binary.BigEndian.Uint16(b[36:]) != versionOne {
		return h
	}
	h.modern = true
	h.upper = binary.BigEndian.Uint16(b[32:])
	h.rate = parseRate(binary.BigEndian.Uint32(b[48:]), binary.BigEndian.Uint32(b[52:]))
	return h
}

// parseRate joins the halves of a rate. 2.1.8 sends the upper half as it is, others 8 bits higher; no rate that there can
// be leaves a doubt.
func parseRate(low, high uint32) int64 {
	if high&0xff == 0 {
		high >>= 8
	}
	return min(int64(high&0xff)<<32|int64(low), metric.MaxRate)
}

// put writes the header into b, which is of [headerSize] bytes at least.
func (h *header) put(b []byte, udp bool) {
	n := headerSize
	if udp {
		n += headSize
	}
	clear(b[:headerSize])
	binary.BigEndian.PutUint32(b[0:], h.flags|flagExtend|flagVersion2|flagLen|uint32(n)<<1)
	binary.BigEndian.PutUint32(b[4:], 1) // threads
	binary.BigEndian.PutUint32(b[12:], uint32(h.size))
	binary.BigEndian.PutUint32(b[20:], uint32(-int32(h.time/amountUnit)))
	binary.BigEndian.PutUint16(b[32:], h.upper)
	binary.BigEndian.PutUint32(b[36:], version)
	binary.BigEndian.PutUint32(b[40:], release)
	binary.BigEndian.PutUint32(b[48:], uint32(h.rate))
	binary.BigEndian.PutUint32(b[52:], uint32(h.rate>>32))
}

// mode is what the client wants, seen from itself.
func (h *header) mode() metric.Mode {
	switch {
	case h.upper&upperFullDuplex != 0:
		return metric.ModeBoth
	case h.upper&upperReverse != 0:
		return metric.ModeIn
	}
	return metric.ModeOut
}
