package chart

import "sort"

// tier is the record of whole stretches of time, all of one width.
type tier struct {
	width int64 // s
	ring[slot]
}

// slot is what one of them held, its number being that of [index] at the tier's width.
type slot struct {
	number int64
	acc
}

// begin is the time in seconds at which a slot of that width begins.
func (s *slot) begin(width int64) float64 { return float64(s.number * width) }

func (t *tier) add(at, v float64) {
	number, n := index(at, float64(t.width)), t.len()
	if n == 0 || t.at(n-1).number != number {
		t.push(slot{number: number})
		n = t.len()
	}
	t.at(n - 1).add(v)
}

// search is the position of the first slot that begins at or after the one which holds time at.
func (t *tier) search(at float64) int {
	first := index(at, float64(t.width))
	return sort.Search(t.len(), func(i int) bool { return t.at(i).number >= first })
}

// oldest is when the first slot begins. There must be one.
func (t *tier) oldest() float64 { return t.at(0).begin(t.width) }

// forgets says whether what was at that time has been dropped.
func (t *tier) forgets(at float64) bool { return t.len() == t.keep && at < t.oldest() }
