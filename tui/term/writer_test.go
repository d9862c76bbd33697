package term

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"
	"time"
)

// clock is a time that the test moves.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Unix(1_000_000, 0)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// line is a terminal that takes a while for every write.
type line struct {
	clock *clock
	took  time.Duration
}

func (l *line) Write(p []byte) (int, error) {
	l.clock.add(l.took)
	return len(p), nil
}

// frames runs the frame clock for n ticks, draws what is ready, and counts it.
func frames(w *Writer, c *clock, n, size int) int {
	drawn := 0
	for range n {
		start := c.now()
		if w.Ready() {
			w.Write(make([]byte, size))
			drawn++
		}
		if rest := start.Add(defaultFrame).Sub(c.now()); rest > 0 {
			c.add(rest)
		}
	}
	return drawn
}

func TestPace(t *testing.T) {
	c := newClock()
	l := &line{clock: c, took: time.Millisecond}
	w := NewWriter(l, 0, 0, c.now)

	if n := frames(w, c, 40, 400); n != 40 {
		t.Errorf("a fast line: %d of 40 frames", n)
	}
	l.took = 130 * time.Millisecond // More than half a frame.
	frames(w, c, 1, 400)
	if frames(w, c, 1, 400) != 0 || w.Interval() != 2*defaultFrame {
		t.Errorf("one late write: frames every %v", w.Interval())
	}
	n := frames(w, c, 400, 400)
	if w.Interval() != 4*defaultFrame {
		t.Errorf("a slow line: frames every %v", w.Interval())
	}
	if n > 110 {
		t.Errorf("a slow line: %d frames in 100 s", n)
	}
	if n < 60 {
		t.Errorf("a slow line starves: %d frames in 100 s", n)
	}
	l.took = time.Millisecond
	frames(w, c, 2000, 400)
	if w.Interval() != defaultFrame {
		t.Errorf("the line has recovered: frames every %v", w.Interval())
	}
	if n := frames(w, c, 40, 400); n != 40 {
		t.Errorf("recovered: %d of 40 frames", n)
	}
}

// TestJitter draws every frame although the ticks come early and late.
func TestJitter(t *testing.T) {
	c := newClock()
	w := NewWriter(&line{clock: c}, 0, 0, c.now)
	for i := range 40 {
		if !w.Ready() {
			t.Fatalf("tick %d was not drawn", i)
		}
		c.add(defaultFrame + [3]time.Duration{0, 100 * time.Millisecond, -100 * time.Millisecond}[i%3])
	}
}

// TestBaud keeps to 60 % of the line however large the frames are.
func TestBaud(t *testing.T) {
	for _, baud := range []int{1200, 9600, 115200} {
		for _, size := range []int{10, 100, 450, 2400} {
			c := newClock()
			w := NewWriter(&line{clock: c}, 0, baud, c.now)
			frames(w, c, 4*600, size)
			share := 0.6 * float64(baud) / 10
			if got := float64(w.Bytes()) / 600; got > share+float64(size)/600+1 {
				t.Errorf("%d bit/s, frames of %d bytes: %.0f bytes/s, share %.0f", baud, size, got, share)
			} else if want := min(share, float64(size)); got < want/5 {
				t.Errorf("%d bit/s, frames of %d bytes: only %.0f bytes/s, share %.0f", baud, size, got, share)
			}
		}
	}
}

// TestStuck is a write that another goroutine sees waiting.
func TestStuck(t *testing.T) {
	c := newClock()
	r, inner := io.Pipe()
	w := NewWriter(inner, 0, 0, c.now)
	done := make(chan error, 1)
	go func() {
		_, err := w.Write([]byte("frame"))
		done <- err
	}()
	until(t, func() bool { return w.Stuck(0) })
	c.add(5*time.Second - 1)
	if w.Stuck(5 * time.Second) {
		t.Error("stuck a moment early")
	}
	c.add(1)
	if !w.Stuck(5 * time.Second) {
		t.Error("not stuck after 5 s")
	}
	if _, err := io.ReadFull(r, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if w.Stuck(0) || w.Took() != 5*time.Second || w.Bytes() != 5 {
		t.Errorf("after the write: stuck %v, took %v, %d bytes", w.Stuck(0), w.Took(), w.Bytes())
	}
	if w.Ready() {
		t.Error("ready right after a write of 5 s")
	}
}

func TestNoFile(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, 0, 0, nil)
	if w.Fd() != ^uintptr(0) || w.Pending() != 0 {
		t.Error("a buffer passes for a file")
	}
	if _, err := w.Write([]byte("x")); err != nil || b.String() != "x" {
		t.Errorf("wrote %q, %v", b.String(), err)
	}
	only := NewWriter(struct{ io.Writer }{&b}, 0, 0, nil)
	if _, err := only.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("read from what cannot be read: %v", err)
	}
	if err := only.Close(); err != nil {
		t.Errorf("close what cannot be closed: %v", err)
	}
}

// BenchmarkWrite is what the measuring adds to a write, once a frame.
func BenchmarkWrite(b *testing.B) {
	w := NewWriter(io.Discard, 0, 0, nil)
	p := make([]byte, 400)
	b.ReportAllocs()
	for b.Loop() {
		w.Ready()
		w.Write(p)
	}
}
