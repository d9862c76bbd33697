package flow

// windowSize is how far back in sequence numbers a late datagram is told from a second copy. What is older counts as a
// copy: 4096 is 50 ms at 80 000 datagrams a second, well beyond what reordering does.
const windowSize = 4096

// window follows one stream's sequence numbers. The zero window has seen nothing.
type window struct {
	bits     [windowSize / 64]uint64
	next     uint64 // highest seen + 1
	distinct uint64
}

// see counts seq and reports whether it came for the first time.
func (w *window) see(seq uint64) bool {
	switch {
	case seq == ^uint64(0):
		return false // next would wrap; no sender gets there
	case seq >= w.next:
		w.clear(w.next, seq)
		w.next = seq + 1
	case w.next-seq > windowSize || w.bits[seq%windowSize/64]>>(seq%64)&1 == 1:
		return false
	}
	w.bits[seq%windowSize/64] |= 1 << (seq % 64)
	w.distinct++
	return true
}

// clear forgets what the places of from..to held one window ago.
func (w *window) clear(from, to uint64) {
	if to-from >= windowSize {
		w.bits = [windowSize / 64]uint64{}
		return
	}
	for s := from; s <= to; s++ {
		w.bits[s%windowSize/64] &^= 1 << (s % 64)
	}
}
