package tui

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/vt"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tui/term"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
)

// screen is a terminal in memory. It never answers a query.
type screen struct {
	mu    sync.Mutex
	em    *vt.Emulator
	raw   strings.Builder
	isRaw bool // a real terminal in raw mode: a line feed does not return the carriage
}

func newScreen(t *testing.T, cols, rows int) *screen {
	s := &screen{em: vt.NewEmulator(cols, rows)}
	replies := make(chan struct{})
	go func() {
		defer close(replies)
		_, _ = io.Copy(io.Discard, s.em) // replies go nowhere; unread they would block
	}()
	t.Cleanup(func() {
		_ = s.em.InputPipe().(io.Closer).Close()
		<-replies
	})
	return s
}

// Write takes what the program sends. Where it found no terminal its line ends count on the carriage being returned.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw.Write(p)
	text := string(p)
	if !s.isRaw {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if _, err := s.em.Write([]byte(text)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.em.String()
}

func (s *screen) alt() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.em.IsAltScreen()
}

func (s *screen) sent() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.raw.String()
}

// waitFor waits until ok, for as long as a slow machine may need.
func waitFor(t *testing.T, s *screen, what string, ok func(text string) bool) {
	t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	late := time.After(30 * time.Second)
	for !ok(s.String()) {
		select {
		case <-poll.C:
		case <-late:
			t.Fatalf("%s never came. The screen:\n%s", what, s.String())
		}
	}
}

func has(words ...string) func(string) bool {
	return func(text string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	}
}

// running is a program on a screen.
type running struct {
	*screen
	bench *rig.Bench
	rig   *fakeRig
	keys  io.Writer
	stop  context.CancelFunc
	done  chan error
	sum   Summary
}

// start runs a screen; with adjusts its Config before.
func start(t *testing.T, caps term.Caps, with ...func(*Config)) *running {
	bench, near := newBench(t)
	in, keys := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	r := &running{bench: bench, screen: newScreen(t, caps.Columns, caps.Rows), rig: near, keys: keys, stop: stop, done: make(chan error, 1)}
	spec := metric.DefaultSpec()
	c := Config{
		Bench: bench, Spec: spec, Title: "lab", Caps: caps, In: in, Out: r.screen, Env: []string{"TERM=xterm-256color"}, FPS: 10,
	}
	for _, f := range with {
		f(&c)
	}
	go func() {
		var err error
		r.sum, err = Run(ctx, c)
		r.done <- err
	}()
	t.Cleanup(func() {
		stop()
		_ = keys.Close()
	})
	return r
}

func (r *running) wait(t *testing.T) {
	t.Helper()
	select {
	case err := <-r.done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the program does not end")
	}
	if r.alt() {
		t.Error("the terminal is still on the alternate screen")
	}
}

// traffic puts Frames from from to to seconds into the feed.
func (r *running) traffic(from, to float64, slow bool) {
	rng := rand.New(rand.NewPCG(3, 5))
	for i := int(from*10) + 1; i <= int(to*10); i++ {
		r.rig.feed.Put(sceneFrame(rng, float64(i)/10, slow))
	}
}

// live lets traffic flow until it is seen, and returns how many seconds that took. A feed keeps nothing for readers that
// come later.
func (r *running) live(t *testing.T) float64 {
	t.Helper()
	at := 0.0
	waitFor(t, r.screen, "traffic", func(text string) bool {
		r.traffic(at, at+1, false)
		at++
		return strings.Contains(text, " live")
	})
	return at
}

// A knob is turned by keys alone: the mark's number appears on the axis, the verdict in the list, undo takes it back.
func TestTurnOnScreen(t *testing.T) {
	caps := term.Caps{Glyphs: chart.ASCII, Columns: 80, Rows: 24}
	r := start(t, caps)
	waitFor(t, r.screen, "the first picture", has("bandwidth", "> tso", "starting"))
	at := r.live(t)
	r.traffic(at, at+12, false)
	// A mark is put where the Bench's clock is, which is that of the Frames it has seen. The last one is worth waiting for:
	// what comes after the mark counts as its effect.
	waitFor(t, r.screen, "its end", func(string) bool { return r.bench.Now() > at+11.95 })

	_, _ = io.WriteString(r.keys, " ")
	waitFor(t, r.screen, "the turn", has("turned at 1", "tso off measuring"))
	waitFor(t, r.screen, "the mark on the axis", func(text string) bool {
		return slices.ContainsFunc(strings.Split(text, "\n"), func(l string) bool {
			return strings.Contains(l, "+--") && strings.Contains(l, "1")
		})
	})
	r.traffic(at+12, at+24, true)
	waitFor(t, r.screen, "the verdict", has("! worse", "1 tso off"))

	_, _ = io.WriteString(r.keys, "u")
	waitFor(t, r.screen, "the undo", has("turned at 2", "tso on"))
	_, _ = io.WriteString(r.keys, "q")
	r.wait(t)
	if n := len(r.sum.Marks); n != 2 || r.sum.Marks[0].Outcome != string(knob.Applied) {
		t.Errorf("marks of the summary: %+v", r.sum.Marks)
	}
}

// When ctx ends the terminal is left as it was and that is no error.
func TestContextEndsScreen(t *testing.T) {
	r := start(t, term.Caps{Columns: 80, Rows: 24})
	waitFor(t, r.screen, "the first picture", has("bandwidth"))
	r.stop()
	r.wait(t)
}

// A fault of the program is an error, and the terminal is as it was all the same.
func TestPanicLeavesTheTerminal(t *testing.T) {
	r := start(t, term.Caps{Columns: 80, Rows: 24})
	waitFor(t, r.screen, "the knobs", has("▸ tso"))
	r.rig.mu.Lock()
	r.rig.broken = true
	r.rig.mu.Unlock()
	_, _ = io.WriteString(r.keys, " ") // after the turn all knobs are read
	select {
	case err := <-r.done:
		if !errors.Is(err, tea.ErrProgramPanic) {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the program does not end")
	}
	if r.alt() {
		t.Error("the terminal is still on the alternate screen")
	}
}

// The stream of an end that breaks off is seen at once and said.
func TestLostEnd(t *testing.T) {
	r := start(t, term.Caps{Columns: 80, Rows: 24})
	r.live(t)
	r.rig.feed.Close()
	waitFor(t, r.screen, "LOST", has("LOST", "near: stream to agent lost"))
	_, _ = io.WriteString(r.keys, "q")
	r.wait(t)
}

// Without colours, bold, faint and reverse still come out, and nothing else does.
func TestMonoStyles(t *testing.T) {
	r := start(t, term.Caps{Colour: chart.Mono, Columns: 80, Rows: 24})
	r.live(t)
	waitFor(t, r.screen, "the knobs", has("▸ tso"))
	_, _ = io.WriteString(r.keys, "q")
	r.wait(t)
	sent := r.sent()
	for _, attr := range []string{"1", "2", "7"} {
		if !hasSGR(sent, func(p string) bool { return p == attr }) {
			t.Errorf("no SGR %s was sent", attr)
		}
	}
	if hasSGR(sent, func(p string) bool {
		return len(p) == 2 && (p[0] == '3' || p[0] == '4' || p[0] == '9') && p != "39" && p != "49"
	}) {
		t.Error("a colour was sent")
	}
}

// hasSGR reports whether a parameter of one of the SGR sequences in sent is as wanted.
func hasSGR(sent string, want func(string) bool) bool {
	for _, part := range strings.Split(sent, "\x1b[")[1:] {
		end := strings.IndexFunc(part, func(r rune) bool { return r != ';' && (r < '0' || r > '9') })
		if end >= 0 && part[end] == 'm' && slices.ContainsFunc(strings.Split(part[:end], ";"), want) {
			return true
		}
	}
	return false
}
