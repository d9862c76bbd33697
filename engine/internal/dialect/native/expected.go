package native

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// expected is a stream that was asked for and has not joined.
type expected struct {
	spec    StreamSpec
	arrived chan arrival
	gone    chan struct{} // closed when it is no longer wanted
}

// arrival is a stream's first sign of life: its connection, or the address its datagram came from.
type arrival struct {
	fd   int // -1 for UDP
	peer netip.AddrPort
}

// drop lets go of an arrival that nobody fetched. There is no other once e is out of the session's expects.
func (e *expected) drop() {
	select {
	case a := <-e.arrived:
		if a.fd >= 0 {
			_ = unix.Close(a.fd)
		}
	default:
	}
}
