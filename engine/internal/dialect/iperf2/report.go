package iperf2

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
)

const (
	// reportSize is a server's report of 2.1 and later: 16 bytes, ten words, 15 words of extension, and the upper halves of
	// three counters.
	reportSize = 128
	// reportWords are the ten that every version has.
	reportWords = 40
	// reportHigh is where the upper halves are, behind the first word.
	reportHigh = reportWords + 15*4
	// oldReport is where the words begin up to 2.0.9.
	oldReport = 12

	flagReport = 0x80000000
	// reportFlags are of a report that has it all.
	reportFlags = flagReport | flagExtend | flagWide
)

// report is what a server received of one stream. The datagram that ended it is counted in.
type report struct {
	bytes     uint64
	stop      time.Duration // from the first datagram to the last
	lost      uint64
	late      uint64 // that arrived behind a later one; not among the lost
	datagrams uint64 // the highest number
	jitterNs  metric.Num
	old       bool // it is of a 2.0 server, for which the datagrams begin with 0
}

// parseReport reads an answer to the last datagram; false where it is none.
func parseReport(b []byte) (report, bool) {
	at := headSize
	// 2.0.13 leaves in front what it last received, whose upper half of the number has the sign of the flag that older
	// ones have there. So the newer place is looked at first.
	if len(b) < at+reportWords || binary.BigEndian.Uint32(b[at:])&flagReport == 0 {
		at = oldReport
		if len(b) < at+reportWords || binary.BigEndian.Uint32(b[at:]) != flagReport {
			return report{}, false
		}
	}
	word := func(i int) uint64 { return uint64(binary.BigEndian.Uint32(b[at+4*i:])) }
	high := func(i int) uint64 {
		if p := at + reportHigh + 4*i; word(0)&flagWide != 0 && len(b) >= p+4 {
			return uint64(binary.BigEndian.Uint32(b[p:])) << 32
		}
		return 0
	}
	r := report{
		bytes:     word(1)<<32 | word(2),
		stop:      time.Duration(word(3))*time.Second + time.Duration(word(4))*time.Microsecond,
		lost:      high(0) | word(5),
		late:      high(1) | word(6),
		datagrams: high(2) | word(7),
		old:       at == oldReport || binary.BigEndian.Uint64(b) != 0 || binary.BigEndian.Uint64(b[8:]) != 0,
	}
	if word(4) >= 1_000_000 || max(r.bytes, r.lost, r.datagrams) > math.MaxInt64 {
		return report{}, false
	}
	r.lost = min(r.lost, r.datagrams)
	// Some of 2.0.10 to 2.0.12 have another word before these.
	if word(9) < 1_000_000 {
		r.jitterNs = metric.N(float64(word(8))*1e9 + float64(word(9))*1e3)
	}
	return r, true
}

// put writes the report as a server sends it, old as it was up to 2.0.9. b is of [reportSize] bytes at least.
func (r *report) put(b []byte) {
	_ = b[reportSize-1]
	clear(b)
	at, flags := headSize, uint32(reportFlags)
	if r.old {
		at, flags = oldReport, flagReport
	}
	word := func(i int, v uint64) { binary.BigEndian.PutUint32(b[at+4*i:], uint32(v)) }
	ns := r.jitterNs.Or(0)
	word(0, uint64(flags))
	word(1, r.bytes>>32)
	word(2, r.bytes)
	word(3, uint64(r.stop/time.Second))
	word(4, uint64(r.stop%time.Second/time.Microsecond))
	word(5, r.lost)
	word(6, r.late)
	word(7, r.datagrams)
	word(8, uint64(ns/1e9))
	word(9, uint64(math.Mod(ns, 1e9)/1e3))
	if !r.old {
		word(reportHigh/4, r.lost>>32)
		word(reportHigh/4+1, r.late>>32)
		word(reportHigh/4+2, r.datagrams>>32)
	}
}
