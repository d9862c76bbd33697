package flow

// windowSize is how far back in sequence numbers a late datagram is told from a second copy. What is older counts as a
// copy: 65536 is 25 ms at 2.6 million datagrams a second, well beyond what reordering does.
const windowSize = 1 << 16

// window follows one stream's sequence numbers. The zero window has seen nothing.
type window struct {
	bits     [windowSize / 64]uint64
	next     uint64 // highest seen + 1
	distinct uint64
	late     uint64 // of distinct, those that came behind a higher one
	extent   uint64 // the most that one of them was behind the highest
	copies   uint64 // seen again, or too late to tell
}

// see counts seq and reports whether it came for the first time.
func (w *window) see(seq uint64) bool {
	word, bit := seq%windowSize/64, uint64(1)<<(seq%64)
	switch {
	case seq == ^uint64(0):
		return false // next would wrap; no sender gets there
	case seq >= w.next:
		w.clear(w.next, seq)
		w.next = seq + 1
	case w.next-seq > windowSize || w.bits[word]&bit != 0:
		w.copies++
		return false
	default:
		w.late++
		w.extent = max(w.extent, w.next-1-seq)
	}
	w.bits[word] |= bit
	w.distinct++
	return true
}

// clear forgets what the places of from..to held one window ago.
func (w *window) clear(from, to uint64) {
	if to-from >= windowSize {
		w.bits = [windowSize / 64]uint64{}
		return
	}
	for from <= to {
		n := min(64-from%64, to-from+1) // places in this word
		w.bits[from%windowSize/64] &^= ^uint64(0) >> (64 - n) << (from % 64)
		from += n
	}
}
