package term

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Writer is the way out to a terminal. It lets every byte through as it comes, measures how the line copes, and answers
// before each frame whether the next one should be drawn: on a slow line a picture that is left out costs nothing, one
// that waits in a queue makes keys late.
//
// It has the methods of a file because screen libraries look for them; where the writer inside is no file, Fd is no
// descriptor and Read is at the end. All methods may be called by several goroutines; Write by one at a time.
type Writer struct {
	w    io.Writer
	file *os.File // w, when it is a terminal
	now  func() time.Time

	mu      sync.Mutex
	started time.Time // of the write under way; zero while there is none
	last    time.Duration
	bytes   int64
	pace    pace
}

// NewWriter wraps w for a screen that draws a frame every frame (250 ms unless positive). baud is the line speed in bit/s,
// 0 if not known. now is the clock, time.Now if nil.
func NewWriter(w io.Writer, frame time.Duration, baud int, now func() time.Time) *Writer {
	if now == nil {
		now = time.Now
	}
	out := &Writer{w: w, now: now, pace: newPace(frame, baud)}
	if f, ok := w.(*os.File); ok {
		if _, _, tty := winsize(f); tty {
			out.file = f
		}
	}
	return out
}

// Write passes p on and times it.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.started = w.now()
	w.mu.Unlock()

	n, err := w.w.Write(p)

	w.mu.Lock()
	defer w.mu.Unlock()
	end := w.now()
	w.last = end.Sub(w.started)
	w.started = time.Time{}
	w.bytes += int64(n)
	w.pace.wrote(n, w.last)
	return n, err
}

// Pending is how many bytes wait in the kernel for the terminal; 0 where that is not known.
func (w *Writer) Pending() int {
	if w.file == nil {
		return 0
	}
	n, err := outq(w.file)
	if err != nil {
		return 0
	}
	return n
}

// Ready says whether to draw a frame now, and counts it as drawn if so. Ask at every tick of the frame clock. It is false
// while a write is under way, while bytes are pending, after a write that took more than half a frame, and when more than
// 60 % of the line speed has been used; each of these also slows the frames down, from one a tick to one in two and one
// in four, until enough of them went well.
func (w *Writer) Ready() bool {
	pending := w.Pending()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pace.ready(w.now(), pending > 0 || !w.started.IsZero())
}

// Interval is the distance between frames in force.
func (w *Writer) Interval() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pace.interval()
}

// Bytes is how many bytes have been written, for the line in which the program tells what it costs.
func (w *Writer) Bytes() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes
}

// Took is how long the last write took.
func (w *Writer) Took() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// Stuck says whether a write has been waiting for d or longer: nobody reads the terminal, and whoever is behind it cannot
// see or stop what we do.
func (w *Writer) Stuck(d time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.started.IsZero() && w.now().Sub(w.started) >= d
}

// Fd is the descriptor of the file inside, or one that is none.
func (w *Writer) Fd() uintptr {
	if f, ok := w.w.(interface{ Fd() uintptr }); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// Read reads from what is inside where that can be read from.
func (w *Writer) Read(p []byte) (int, error) {
	if r, ok := w.w.(io.Reader); ok {
		return r.Read(p)
	}
	return 0, io.EOF
}

// Close closes what is inside where that can be closed.
func (w *Writer) Close() error {
	if c, ok := w.w.(io.Closer); ok {
		if err := c.Close(); err != nil {
			return fmt.Errorf("close the terminal: %w", err)
		}
	}
	return nil
}
