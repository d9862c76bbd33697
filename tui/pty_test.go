package tui

import (
	"context"
	"io"
	"os"
	"reflect"
	"testing"
	"time"

	xterm "github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tui/term"
)

// need skips a test that this machine cannot run, or fails it where everything is asked for.
func need(t *testing.T, ok bool, reason string) {
	t.Helper()
	switch {
	case ok:
	case os.Getenv("ETHTUNE_REQUIRE") == "all":
		t.Fatal(reason)
	default:
		t.Skip(reason)
	}
}

// On a terminal that answers nothing and does not know its size the picture comes all the same, and afterwards the
// terminal is as it was.
func TestSilentTerminal(t *testing.T) {
	for _, name := range []string{"xterm-256color", "linux", "vt100", "dumb"} {
		t.Run(name, func(t *testing.T) {
			master, tty, err := pty.Open()
			need(t, err == nil, "no pseudo terminal can be opened")
			defer master.Close()
			defer tty.Close()
			before, err := xterm.GetState(tty.Fd())
			if err != nil {
				t.Fatal(err)
			}
			env := map[string]string{"TERM": name, "LANG": "C.UTF-8"}
			caps := term.Detect(func(k string) string { return env[k] }, tty)
			bench, _ := newBench(t)
			s := newScreen(t, 80, 24)
			s.isRaw = true
			read := make(chan struct{})
			go func() {
				defer close(read)
				_, _ = io.Copy(s, master) // ends when both ends of the pair are closed
			}()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			done := make(chan error, 1)
			began := time.Now()
			go func() {
				_, err := Run(ctx, Config{
					Bench: bench, Spec: metric.DefaultSpec(), Title: "lab", Caps: caps, In: tty, Out: tty, Env: []string{"TERM=" + name},
				})
				done <- err
			}()
			waitFor(t, s, "the first picture", has("bandwidth", "q quit"))
			t.Logf("first picture after %v", time.Since(began).Round(time.Millisecond))
			waitFor(t, s, "the knobs", has(" tso         on      on"))
			_, _ = io.WriteString(master, "q")
			select {
			case err := <-done:
				if err != nil {
					t.Fatal(err)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("q does not end it")
			}
			after, err := xterm.GetState(tty.Fd())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(before, after, cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
				t.Errorf("the terminal is not as it was:\n%s", d)
			}
			waitFor(t, s, "the way back from the alternate screen", func(string) bool { return !s.alt() })
			_ = tty.Close()
			_ = master.Close()
			<-read
		})
	}
}
