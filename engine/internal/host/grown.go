package host

import "math"

// maxWrapped is how much a counter of 32 bits may have grown where it is taken to have wrapped: more than what has such
// counters moves in a second. A step back that would mean more is a counter that began anew.
const maxWrapped = 1 << 28

// grown is how much a counter grew from last to now. Some drivers and all 32-bit kernels count in 32 bits, whatever the
// width of what they are shown in. A counter that began anew grew by what nobody knows: 0 until it is read again.
func grown(last, now uint64) uint64 {
	if now >= last {
		return now - last
	}
	if wrapped := uint32(now) - uint32(last); last <= math.MaxUint32 && wrapped < maxWrapped {
		return uint64(wrapped)
	}
	return 0
}
