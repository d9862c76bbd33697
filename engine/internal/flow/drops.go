package flow

import "sync"

// drops keeps the 64-bit sum of the kernel's counter of drops at a socket, which has 32 bits and wraps. A train counts
// there as one. How long the trains were that nobody saw is taken from those that came meanwhile.
type drops struct {
	mu        sync.Mutex
	last      uint32
	sum       uint64
	none      bool
	datagrams uint64 // received at the last look
	messages  uint64
	train     float64 // datagrams a message
}

// read takes in the counter of t's socket, to which so many datagrams came in so many messages.
func (d *drops) read(t *thread, datagrams, messages uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = t.use(func(fd int) error {
		n, ok := socketDrops(fd)
		if d.none = !ok; ok {
			d.add(n, datagrams, messages)
		}
		return nil
	})
}

// add takes in the counter's value n.
func (d *drops) add(n uint32, datagrams, messages uint64) {
	if messages > d.messages && datagrams >= d.datagrams {
		d.train = float64(datagrams-d.datagrams) / float64(messages-d.messages)
		d.datagrams, d.messages = datagrams, messages
	}
	d.sum += uint64(float64(n-d.last)*max(d.train, 1) + 0.5)
	d.last = n
}

func (d *drops) get() (sum uint64, none bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sum, d.none
}
