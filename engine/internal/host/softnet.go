package host

import (
	"bytes"
	"path/filepath"
	"strconv"
)

// Softnet sums the packets that were dropped because a processor's backlog was full, from when it was opened.
type Softnet struct {
	file *file
	last map[uint32]uint32 // of each processor
	sum  uint64
}

// OpenSoftnet reads the file below root. It is the caller's to close.
func OpenSoftnet(root string) *Softnet {
	s := &Softnet{file: open(filepath.Join(root, "proc/net/softnet_stat")), last: make(map[uint32]uint32)}
	s.Dropped()
	return s
}

// Dropped is the sum so far; false where the kernel does not say.
func (s *Softnet) Dropped() (uint64, bool) {
	b, ok := s.file.read()
	if !ok {
		return 0, false
	}
	rows := parseSoftnet(b)
	for _, r := range rows {
		// The counter has 32 bits and wraps. One that was not seen before may have dropped at any time before.
		if last, known := s.last[r.cpu]; known {
			s.sum += uint64(r.dropped - last)
		}
		s.last[r.cpu] = r.dropped
	}
	return s.sum, len(rows) > 0
}

// Close closes the file.
func (s *Softnet) Close() { s.file.close() }

// softnetRow is one processor's line.
type softnetRow struct{ cpu, dropped uint32 }

// maxCPUs bounds the rows: the kernel's NR_CPUS is at most 8192 on the machines it runs on.
const maxCPUs = 8192

// parseSoftnet reads /proc/net/softnet_stat: one row of hexadecimal numbers for each processor that is online, the
// second of them dropped. The thirteenth, since Linux 5.10, is the processor's number; before, the row's place is all
// there is.
func parseSoftnet(b []byte) []softnetRow {
	var rows []softnetRow
	for l := range bytes.Lines(b) {
		f := bytes.Fields(l)
		if len(f) < 2 {
			continue
		}
		if len(rows) == maxCPUs {
			break
		}
		d, err := strconv.ParseUint(string(f[1]), 16, 32)
		if err != nil {
			continue
		}
		r := softnetRow{cpu: uint32(len(rows)), dropped: uint32(d)}
		if len(f) > 12 {
			c, err := strconv.ParseUint(string(f[12]), 16, 32)
			if err != nil {
				continue
			}
			r.cpu = uint32(c)
		}
		rows = append(rows, r)
	}
	return rows
}
