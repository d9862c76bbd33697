package host

import (
	"path/filepath"

	"github.com/ethtune/ethtune/engine/metric"
)

// Softnet is what the processors took from their devices: packets processed and dropped, and polls cut short.
type Softnet struct {
	file    *file
	now     []softnetRow
	placed  int                   // rows of the last read, where they have no number
	last    map[uint32]softnetRow // of each processor
	dropped uint64                // since it was opened
}

// softnetRow is one processor's line. All of its counters have 32 bits and wrap.
type softnetRow struct {
	cpu                          uint32
	numbered                     bool // the kernel said which processor
	processed, dropped, squeezed uint32
}

// OpenSoftnet reads the file below root. It is the caller's to close.
func OpenSoftnet(root string) *Softnet {
	s := &Softnet{file: open(filepath.Join(root, "proc/net/softnet_stat"), maxFile), last: make(map[uint32]softnetRow)}
	s.read()
	return s
}

// Dropped is the sum of packets that were dropped because a processor's backlog was full, from when it was opened; false
// where the kernel does not say.
func (s *Softnet) Dropped() (uint64, bool) {
	_, ok := s.read()
	return s.dropped, ok
}

// sums is what all processors did since the last read, and the drops as Dropped has them; nil where the kernel does not
// say.
func (s *Softnet) sums() (*metric.Softnet, uint64) {
	rows, ok := s.read()
	if !ok {
		return nil, 0
	}
	sum := &metric.Softnet{}
	for _, r := range rows {
		sum.Processed += uint64(r.processed)
		sum.Dropped += uint64(r.dropped)
		sum.Squeezed += uint64(r.squeezed)
	}
	return sum, s.dropped
}

// read is what each processor did since the last read, good until the next. One that was not seen before may have done it
// at any time before, and did nothing.
func (s *Softnet) read() ([]softnetRow, bool) {
	text, ok := s.file.read()
	if !ok {
		return nil, false
	}
	s.now = parseSoftnet(s.now[:0], text)
	if len(s.now) == 0 {
		return nil, false
	}
	if !s.now[0].numbered {
		// When a processor goes or comes the places of others change, and nobody says which.
		if s.placed != len(s.now) {
			clear(s.last)
		}
		s.placed = len(s.now)
	}
	for i := range s.now {
		r := &s.now[i]
		now := *r
		last, known := s.last[r.cpu]
		if !known {
			last = now
		}
		r.processed -= last.processed
		r.dropped -= last.dropped
		r.squeezed -= last.squeezed
		s.dropped += uint64(r.dropped)
		s.last[r.cpu] = now
	}
	return s.now, true
}

// Close closes the file.
func (s *Softnet) Close() { s.file.close() }

// softnetCPU is the column of /proc/net/softnet_stat, from 0, that has the processor's number.
const softnetCPU = 12

// parseSoftnet appends the rows of /proc/net/softnet_stat: hexadecimal numbers for each processor that is online, the first
// of them processed, dropped, squeezed. The thirteenth, since Linux 5.10, is the processor's number; before, the row's place
// is all there is.
func parseSoftnet(to []softnetRow, text []byte) []softnetRow {
	for len(text) > 0 && len(to) < metric.MaxCPUs {
		var l []byte
		l, text = line(text)
		r := softnetRow{cpu: uint32(len(to))}
		columns := 0
		for ; columns <= softnetCPU; columns++ {
			var w []byte
			if w, l = word(l); len(w) == 0 {
				break
			}
			v, ok := hexadecimal(w)
			if !ok {
				columns = 0
				break
			}
			switch columns {
			case 0:
				r.processed = v
			case 1:
				r.dropped = v
			case 2:
				r.squeezed = v
			case softnetCPU:
				r.cpu, r.numbered = v, true
			}
		}
		if columns > 2 && r.cpu < metric.MaxCPUs {
			to = append(to, r)
		}
	}
	return to
}
