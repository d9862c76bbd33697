package main

import (
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// console is the program on a real pseudo terminal. It never answers a query.
type console struct {
	t   *testing.T
	cmd *exec.Cmd
	tty *os.File
	end chan struct{} // closed when the program's output ends

	mu  sync.Mutex
	em  *vt.Emulator
	raw strings.Builder
}

func openConsole(t *testing.T, cols, rows int, env []string, args ...string) *console {
	t.Helper()
	return openConsoleOf(t, program(t, args...), cols, rows, env)
}

// openConsoleOf runs cmd, which is the program, perhaps in a namespace.
func openConsoleOf(t *testing.T, cmd *exec.Cmd, cols, rows int, env []string) *console {
	t.Helper()
	c := &console{t: t, cmd: cmd, em: vt.NewEmulator(max(cols, 1), max(rows, 1)), end: make(chan struct{})}
	c.cmd.Env = append(c.cmd.Env, "LANG=C.UTF-8", "LC_ALL=", "NO_COLOR=")
	c.cmd.Env = append(c.cmd.Env, env...)
	c.cmd.SysProcAttr = nil // the pty makes a session
	tty, err := pty.StartWithSize(c.cmd, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)})
	if err != nil {
		t.Fatal(err)
	}
	c.tty = tty
	go io.Copy(io.Discard, c.em) // an answer nobody reads would block the emulator
	go func() {
		defer close(c.end)
		buf := make([]byte, 64<<10)
		for {
			n, err := tty.Read(buf)
			c.mu.Lock()
			c.raw.Write(buf[:n])
			c.em.Write(buf[:n])
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		tty.Close()
		c.cmd.Process.Kill()
		c.cmd.Wait()
		c.em.InputPipe().(io.Closer).Close()
	})
	return c
}

func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.em.String()
}

func (c *console) sent() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}

// await waits until the screen shows all words.
func (c *console) await(words ...string) {
	c.t.Helper()
	c.until(words, func(text string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	})
}

// awaitAny waits until the screen shows one of words.
func (c *console) awaitAny(words ...string) {
	c.t.Helper()
	c.until(words, func(text string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	})
}

func (c *console) until(words []string, ok func(text string) bool) {
	c.t.Helper()
	late := time.After(patience)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		text := c.text()
		if ok(text) {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			c.t.Fatalf("%q never came; the screen:\n%s", words, text)
		}
	}
}

func (c *console) keys(s string) { io.WriteString(c.tty, s) }

// quit waits for the end after a key or a signal, and returns the exit code.
func (c *console) quit() int {
	c.t.Helper()
	select {
	case <-c.end:
	case <-time.After(patience):
		c.t.Fatalf("the program does not end; the screen:\n%s", c.text())
	}
	c.cmd.Wait()
	return c.cmd.ProcessState.ExitCode()
}

// TestScreenTurnsAKnob is the main job from end to end: a real terminal, real traffic, a real knob.
func TestScreenTurnsAKnob(t *testing.T) {
	needLab(t)
	c := openConsole(t, 80, 24, []string{"TERM=xterm-256color"}, "lab", "-C", "reno")
	c.await("ethtune  lab", "live", "▸ tso", "? help  q quit")
	c.await("received", "since start") // there is a before
	enough := time.NewTimer(3 * time.Second)
	<-enough.C // of measuring
	c.keys(" ")
	c.await("turned at 1", "1 tso off")
	c.awaitAny("worse", "better", "unsure", "drifting", "no change") // a busy machine may hide the effect, never the verdict
	axis := ""
	for _, l := range strings.Split(c.text(), "\n") {
		if strings.Contains(l, "└") {
			axis = l
		}
	}
	if !strings.Contains(axis, "1") {
		t.Errorf("no mark on the axis: %q", axis)
	}
	// A terminal that grows while traffic runs.
	c.mu.Lock()
	c.em.Resize(120, 40)
	c.mu.Unlock()
	if err := pty.Setsize(c.tty, &pty.Winsize{Cols: 120, Rows: 40}); err != nil {
		t.Fatal(err)
	}
	c.await("history", "1 ", "tso off")
	agents := descendants(t, c.cmd.Process.Pid)
	c.keys("q")
	if code := c.quit(); code != 0 {
		t.Errorf("exit %d", code)
	}
	sent := c.sent()
	after := sent[strings.LastIndex(sent, "\x1b[?1049l"):]
	for _, want := range []string{"put back", "near:tso", "It is back.", "1 near:tso off"} {
		if !strings.Contains(after, want) {
			t.Errorf("after the screen there is no %q: %q", want, after)
		}
	}
	waitGone(t, agents)
}

// TestScreenOnManyTerminals starts and quits on terminals of all kinds.
func TestScreenOnManyTerminals(t *testing.T) {
	needLab(t)
	const colours = `\x1b\[[0-9;]*\b3[1-6]m`
	for _, tc := range []struct {
		name       string
		cols, rows int
		env        []string
		shows      []string
		never      string // a pattern
	}{
		{"xterm", 80, 24, []string{"TERM=xterm-256color"}, []string{"▸ tso"}, ""},
		{"linux", 80, 24, []string{"TERM=linux"}, []string{"bandwidth"}, "⠐"},
		{"vt100", 80, 24, []string{"TERM=vt100"}, []string{"> tso"}, colours},
		{"no color", 80, 24, []string{"TERM=xterm-256color", "NO_COLOR=1"}, []string{"▸ tso"}, colours},
		{"not UTF-8", 80, 24, []string{"TERM=xterm", "LANG=C"}, []string{"> tso"}, "⠐"},
		{"large", 200, 60, []string{"TERM=xterm-256color"}, []string{"▸ tso", "history"}, ""},
		{"small", 60, 16, []string{"TERM=xterm-256color"}, []string{"tso"}, ""},
		{"tiny", 20, 5, []string{"TERM=xterm-256color"}, []string{"q"}, ""},
		{"serial without a size", 0, 0, []string{"TERM=vt100", "COLUMNS=", "LINES="}, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cols, rows := tc.cols, tc.rows
			c := openConsole(t, cols, rows, tc.env, "lab")
			if cols == 0 {
				c.mu.Lock()
				c.em.Resize(80, 24)
				c.mu.Unlock()
				c.await("q quit")
			}
			c.await(tc.shows...)
			c.await("bit/s")
			c.keys("q")
			if code := c.quit(); code != 0 {
				t.Errorf("exit %d", code)
			}
			if tc.name == "xterm" && !regexp.MustCompile(colours).MatchString(c.sent()) {
				t.Error("a terminal with colours got none")
			}
			if tc.never != "" {
				if m := regexp.MustCompile(tc.never).FindString(c.sent()); m != "" {
					t.Errorf("it sent %q", m)
				}
			}
		})
	}
}

// TestScreenThatHangsUp closes the terminal, or ends the program by a signal: all is put back and nothing is left.
func TestScreenThatHangsUp(t *testing.T) {
	needLab(t)
	for _, tc := range []struct {
		name string
		end  func(c *console)
		code int
	}{
		{"SIGTERM", func(c *console) { c.cmd.Process.Signal(syscall.SIGTERM) }, 143},
		{"SIGHUP", func(c *console) { c.cmd.Process.Signal(syscall.SIGHUP) }, 129},
		{"closed terminal", func(c *console) { c.tty.Close() }, 129},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := openConsole(t, 80, 24, []string{"TERM=xterm-256color"}, "lab")
			c.await("live")
			agents := descendants(t, c.cmd.Process.Pid)
			if len(agents) != 3 {
				t.Fatalf("agents %v", agents)
			}
			tc.end(c)
			if code := c.quit(); code != tc.code {
				t.Errorf("exit %d, want %d", code, tc.code)
			}
			waitGone(t, agents)
		})
	}
}
