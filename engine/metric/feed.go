package metric

import (
	"context"
	"io"
	"sync"
)

// Feed carries records to any number of readers, to each in the order they were put.
// There are two classes of delivery: a reader that is behind loses its oldest Frames, and the oldest word of guests who are
// still there, which are counted; it never loses any other record. Putting never waits for a reader.
type Feed struct {
	mu      sync.Mutex
	readers map[*Reader]struct{}
	closed  bool
}

// Reader is one reader's place in a Feed. Its methods may be called by one goroutine at a time, Close by any.
type Reader struct {
	feed    *Feed
	name    string
	depth   int
	mu      sync.Mutex
	queue   []Record
	frames  int
	dropped uint64
	ended   bool
	wake    chan struct{}
}

// NewFeed returns an open Feed.
func NewFeed() *Feed { return &Feed{readers: make(map[*Reader]struct{})} }

// Reader adds a reader that keeps up to depth unread Frames. It sees what is put from now on. The name is for finding
// a slow one.
func (f *Feed) Reader(name string, depth int) *Reader {
	r := &Reader{feed: f, name: name, depth: max(depth, 1), wake: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		r.ended = true
	} else {
		f.readers[r] = struct{}{}
	}
	return r
}

// Put hands rec to every reader. The record must not be changed afterwards. After Close it does nothing.
func (f *Feed) Put(rec Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for r := range f.readers {
		r.put(rec)
	}
}

// Close ends the feed: readers get what is queued, then [io.EOF].
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for r := range f.readers {
		r.end()
	}
	clear(f.readers)
}

// passing reports whether rec is one that the next of its kind makes up for: a Frame, or word of a guest who is still there.
func passing(rec Record) bool {
	switch r := rec.(type) {
	case *Frame:
		return true
	case *Guest:
		return r.Event == "here"
	}
	return false
}

func (r *Reader) put(rec Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if passing(rec) {
		r.frames++
		if r.frames > r.depth {
			r.dropOldestFrame()
		}
	}
	r.queue = append(r.queue, rec)
	r.signal()
}

func (r *Reader) dropOldestFrame() {
	for i, q := range r.queue {
		if passing(q) {
			r.queue = append(r.queue[:i], r.queue[i+1:]...)
			r.frames--
			r.dropped++
			return
		}
	}
}

func (r *Reader) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.signal()
}

func (r *Reader) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Next waits for the next record. It returns [io.EOF] once the feed or the reader is closed and all was read, or the
// context's error.
func (r *Reader) Next(ctx context.Context) (Record, error) {
	for {
		r.mu.Lock()
		if len(r.queue) > 0 {
			rec := r.queue[0]
			r.queue[0] = nil
			r.queue = r.queue[1:]
			if passing(rec) {
				r.frames--
			}
			r.mu.Unlock()
			return rec, nil
		}
		ended := r.ended
		r.mu.Unlock()
		if ended {
			return nil, io.EOF
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Name is the reader's name.
func (r *Reader) Name() string { return r.name }

// Dropped is how many Frames this reader lost by being slow.
func (r *Reader) Dropped() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

// Close takes the reader out of the feed.
func (r *Reader) Close() {
	r.feed.mu.Lock()
	delete(r.feed.readers, r)
	r.feed.mu.Unlock()
	r.end()
}
