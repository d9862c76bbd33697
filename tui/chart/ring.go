package chart

// ring keeps the last `keep` of what is pushed. It grows as it fills, so a short session stays small.
type ring[T any] struct {
	keep  int
	head  int // index of the oldest, once full
	items []T
}

func (r *ring[T]) push(v T) {
	if len(r.items) < r.keep {
		r.items = append(r.items, v)
		return
	}
	r.items[r.head] = v
	if r.head++; r.head == r.keep {
		r.head = 0
	}
}

func (r *ring[T]) len() int { return len(r.items) }

// at is item i, 0 the oldest. It stays valid until the next push.
func (r *ring[T]) at(i int) *T {
	if i += r.head; i >= len(r.items) {
		i -= len(r.items)
	}
	return &r.items[i]
}
