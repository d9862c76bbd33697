package pane

import (
	"math"
	"slices"
)

// sinceKeep bounds how many values a median covers: an hour at 10 Hz.
const sinceKeep = 36_000

// since keeps the values since the last mark in order of size, so that a median costs nothing to read and a new value
// only a binary search and a move. It holds the newest [sinceKeep].
type since struct {
	sorted []float64
	ring   []float64 // in order of arrival
	head   int       // the oldest, once the ring is full
}

func (s *since) reset() { s.sorted, s.ring, s.head = s.sorted[:0], s.ring[:0], 0 }

// add takes a value; one that is not measured is left out.
func (s *since) add(v float64) {
	if math.IsNaN(v) {
		return
	}
	if len(s.ring) < sinceKeep {
		s.ring = append(s.ring, v)
	} else {
		i, _ := slices.BinarySearch(s.sorted, s.ring[s.head])
		s.sorted = slices.Delete(s.sorted, i, i+1)
		s.ring[s.head] = v
		s.head = (s.head + 1) % sinceKeep
	}
	i, _ := slices.BinarySearch(s.sorted, v)
	s.sorted = slices.Insert(s.sorted, i, v)
}

// quantile is the value at q (0 to 1), NaN where there is none.
func (s *since) quantile(q float64) float64 {
	n := len(s.sorted)
	if n == 0 {
		return math.NaN()
	}
	return s.sorted[min(int(q*float64(n)), n-1)]
}
