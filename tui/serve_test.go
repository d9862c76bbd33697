package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tui/pane"
	"github.com/ethtune/ethtune/tui/term"
	"github.com/ethtune/ethtune/tune/rig"
)

// serving is a running screen of a server whose feed is the test's.
type serving struct {
	*screen
	feed   *metric.Feed
	keys   io.Writer
	kicked chan int
	stop   context.CancelFunc
	done   chan error
}

func startServe(t *testing.T, once bool) *serving {
	in, keys := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	s := &serving{newScreen(t, 80, 24), metric.NewFeed(), keys, make(chan int, 1), stop, make(chan error, 1)}
	c := ServeConfig{
		Host: "bench-2", Most: 8, Once: once, Feed: s.feed.Reader("screen", 1),
		Kick: func(_ context.Context, id int) error { s.kicked <- id; return nil },
		Caps: term.Caps{Columns: 80, Rows: 24}, In: in, Out: s.screen, Env: []string{"TERM=xterm-256color"}, FPS: 10,
	}
	go func() { s.done <- RunServe(ctx, c) }()
	t.Cleanup(func() {
		stop()
		_ = keys.Close()
	})
	waitFor(t, s.screen, "the first picture", has("Nobody is here", "q quit"))
	return s
}

func (s *serving) visit(id int, event string) {
	s.feed.Put(&metric.Guest{ID: id, Event: event, Time: noon, Dialect: "native", Peer: fmt.Sprintf("10.0.0.%d:5000", id)})
}

func (s *serving) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-s.done:
		if s.alt() {
			t.Error("the terminal is still on the alternate screen")
		}
		return err
	case <-time.After(30 * time.Second):
		t.Fatal("the program does not end")
		return nil
	}
}

// Guests come, one is chosen and its session ended by keys alone; quitting asks while the other is there.
func TestServeScreenEndsASession(t *testing.T) {
	s := startServe(t, false)
	s.visit(1, "in")
	s.visit(2, "in")
	waitFor(t, s.screen, "both", has("2 clients of 8", "▸ 10.0.0.1", "10.0.0.2        native opened"))
	_, _ = io.WriteString(s.keys, "\x1b[B")
	waitFor(t, s.screen, "the cursor", has("▸ 10.0.0.2"))
	_, _ = io.WriteString(s.keys, "k")
	waitFor(t, s.screen, "the question", has("End the session of 10.0.0.2?"))
	_, _ = io.WriteString(s.keys, "y")
	if id := <-s.kicked; id != 2 {
		t.Errorf("guest %d was ended", id)
	}
	waitFor(t, s.screen, "the wait", has("~ ending"))
	s.visit(2, "out")
	waitFor(t, s.screen, "the end", has("1 client of 8", "native ended by k"))
	_, _ = io.WriteString(s.keys, "q")
	waitFor(t, s.screen, "the question", has("Stop serving?", "1 client is here"))
	_, _ = io.WriteString(s.keys, "y")
	if err := s.wait(t); err != nil {
		t.Error(err)
	}
}

// With nobody there q quits at once; after one session the screen that serves one ends by itself; so it does with ctx.
func TestServeScreenEnds(t *testing.T) {
	for name, end := range map[string]func(s *serving){
		"q":      func(s *serving) { _, _ = io.WriteString(s.keys, "q") },
		"ctrl+c": func(s *serving) { s.visit(1, "in"); _, _ = io.WriteString(s.keys, "\x03") },
		"once":   func(s *serving) { s.visit(1, "in"); s.visit(1, "out") },
		"ctx":    func(s *serving) { s.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			s := startServe(t, name == "once")
			end(s)
			if err := s.wait(t); err != nil {
				t.Error(err)
			}
		})
	}
}

// A server that is lost is said, and is the error of the screen.
func TestServeScreenLosesTheServer(t *testing.T) {
	s := startServe(t, false)
	s.visit(1, "in")
	s.feed.Close()
	waitFor(t, s.screen, "LOST", has("! LOST", "stream to agent lost: the server"))
	_, _ = io.WriteString(s.keys, "q")
	if err := s.wait(t); !errors.Is(err, rig.ErrLost) {
		t.Errorf("ended with %v", err)
	}
}

// A guest that leaves takes the question about it away.
func TestServeQuestionGoesWithItsGuest(t *testing.T) {
	m := newServeScene(t, 80, 24, chart.Braille)
	pressServe(m, "k")
	if m.ask.About() != 1 {
		t.Fatalf("the question is about %d", m.ask.About())
	}
	m.records(recordsMsg{recs: []metric.Record{&metric.Guest{ID: 1, Event: "out"}}, at: clockAt(sceneEnd)})
	m.paint()
	if m.ask.Open() || !strings.Contains(m.plain(), "has left by itself") {
		t.Errorf("it is still asked:\n%s", m.plain())
	}
}

// At any size and with any number of guests no two parts touch, and the first and the last column stay empty.
func TestServeLayoutKeepsPartsApart(t *testing.T) {
	for cols := range 260 {
		for rows := range 90 {
			for _, guests := range []int{0, 3, 64} {
				checkServeLayout(t, cols, rows, guests)
			}
		}
	}
}

func checkServeLayout(t *testing.T, cols, rows, guests int) {
	l := ServeLayoutOf(cols, rows, guests)
	owner := make(map[[2]int]string)
	for name, r := range map[string]pane.Rect{
		"status": l.Status, "total": l.Total, "guests": l.Guests, "rule": l.Rule, "visits": l.Visits, "serving": l.Serving,
		"hints": l.Hints, "one line": l.OneLine,
	} {
		if r.Empty() {
			continue
		}
		if cols >= 3 && (r.X < 1 || r.X+r.W > cols-1) || r.Y < 0 || r.Y+r.H > rows {
			t.Fatalf("%dx%d, %d guests: %s leaves the screen: %+v", cols, rows, guests, name, r)
		}
		for y := r.Y; y < r.Y+r.H; y++ {
			for _, x := range []int{r.X, r.Right()} {
				if o, taken := owner[[2]int{x, y}]; taken && o != name {
					t.Fatalf("%dx%d, %d guests: %s and %s touch", cols, rows, guests, name, o)
				}
				owner[[2]int{x, y}] = name
			}
		}
	}
	if d := l.Dialog; !d.Empty() && (d.Y < l.Total.Y+l.Total.H && d.X < l.Total.X+l.Total.W || d.Y+d.H > rows) {
		t.Fatalf("%dx%d: a question covers the chart or leaves the screen: %+v", cols, rows, l)
	}
}

// What a peer says of itself can break neither the screen nor the memory.
func FuzzServeScreen(f *testing.F) {
	f.Add(uint8(80), uint8(24), "10.0.0.1:1", "native", "tcp", "out", "why", 4, 1.5, uint64(1e9), uint64(1<<63))
	f.Add(uint8(40), uint8(10), "\x1b[2J[::1%\xff]:9", "\u202e", "udp\n", "both", strings.Repeat("é", 900), -1, -1e300, uint64(0), uint64(0))
	f.Fuzz(func(t *testing.T, cols, rows uint8, peer, dialect, proto, mode, reason string, streams int, seconds float64, rx, tx uint64) {
		m := newServeBare(t, int(cols), int(rows), chart.ASCII)
		g := metric.Guest{ID: 1, Event: "in", Time: noon, Peer: peer, Dialect: dialect, Proto: metric.Proto(proto), Mode: metric.Mode(mode),
			Streams: streams, Seconds: seconds, RxBytes: rx, TxBytes: tx, JitterMs: metric.N(seconds), Lost: metric.N(float64(rx)),
			Packets: metric.N(float64(tx)), Reason: reason}
		for i, event := range []string{"in", "here", "here", "out", mode} {
			r := g
			r.Event, r.ID = event, 1+i/4
			r.Seconds += float64(i)
			m.records(recordsMsg{recs: []metric.Record{&r}, at: clockAt(float64(i))})
			m.tick(clockAt(float64(i) + 0.5))
			pressServe(m, "k")
			if strings.ContainsFunc(strings.ReplaceAll(m.plain(), "\n", ""), unicode.IsControl) {
				t.Fatalf("a control character is drawn:\n%q", m.plain())
			}
		}
	})
}

// One frame of a server's screen at the design size.
func BenchmarkServeFrame(b *testing.B) {
	m := newServeScene(b, 80, 24, chart.Braille)
	b.ReportAllocs()
	at := float64(sceneEnd)
	for b.Loop() {
		at += 0.25
		m.Update(tickMsg(clockAt(at)))
	}
}
