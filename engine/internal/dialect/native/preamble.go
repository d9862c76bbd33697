package native

import "encoding/binary"

// preambleMagic is "ETN1"; a control line begins with '{' instead.
const preambleMagic = 0x45544e31

// preambleSize is magic, token and stream id.
const preambleSize = 4 + tokenSize + 4

const tokenSize = 16

// token names a session and proves that a peer has its control connection.
type token [tokenSize]byte

// tag is the part of the token that every datagram carries.
func (t token) tag() uint32 { return binary.BigEndian.Uint32(t[:]) }

// preamble begins a load connection, or asks for a UDP stream.
type preamble struct {
	token token
	id    uint32
}

func (p preamble) bytes() []byte {
	b := make([]byte, 0, preambleSize)
	b = binary.BigEndian.AppendUint32(b, preambleMagic)
	b = append(b, p.token[:]...)
	return binary.BigEndian.AppendUint32(b, p.id)
}

// parsePreamble reads exactly one preamble.
func parsePreamble(b []byte) (p preamble, ok bool) {
	if len(b) != preambleSize || binary.BigEndian.Uint32(b) != preambleMagic {
		return p, false
	}
	copy(p.token[:], b[4:])
	p.id = binary.BigEndian.Uint32(b[4+tokenSize:])
	return p, true
}
