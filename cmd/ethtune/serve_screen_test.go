package main

import (
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// lastPort is the last that unusedPort gave out. They are below those that the kernel gives out by itself, so that none of
// them is taken between the look and the program's bind.
var lastPort atomic.Int32

func init() { lastPort.Store(30_000 + int32(os.Getpid()%60)*40) }

// unusedPort is a port of TCP and UDP that nobody has.
func unusedPort(t *testing.T) string {
	t.Helper()
	for range 1000 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(int(lastPort.Add(1))))
		l, err := net.Listen("tcp", addr)
		if err != nil {
			continue
		}
		l.Close()
		u, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}
		u.Close()
		return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	}
	t.Fatal("no unused port")
	return ""
}

// visit starts a client of the server at that port. It is ended with the test.
func visit(t *testing.T, port string, args ...string) *exec.Cmd {
	t.Helper()
	c := program(t, append([]string{"run", "127.0.0.1:" + port}, args...)...)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Its own end puts everything back; a second signal would not wait for that.
		_ = c.Process.Signal(unix.SIGTERM)
		_ = c.Wait()
	})
	return c
}

// TestServeScreenEndsASession is the screen of a server from end to end: a real terminal, two real clients, one of whom is
// sent away by keys.
func TestServeScreenEndsASession(t *testing.T) {
	port := unusedPort(t)
	c := openConsole(t, 80, 24, []string{"TERM=xterm-256color"}, "serve", "--native", "127.0.0.1:"+port, "--max-sessions", "4")
	c.await("0 clients of 4", "Nobody is here.", "127.0.0.1:"+port, "? help  q quit")
	visit(t, port, "-t", "40", "-u", "-b", "20M")
	c.await("1 client of 4", "udp in", "native opened, udp, it sends")
	visit(t, port, "-t", "40", "-b", "30M", "-R", "-P", "2")
	c.await("2 clients of 4", "tcp ×2 out", "0.00") // and a loss that was measured
	rates := regexp.MustCompile(`(?s)udp in +\d.*tcp ×2 out +\d`)
	c.until([]string{"rates of both"}, rates.MatchString)
	c.keys("\x1b[B")
	c.until([]string{"the cursor on the second"}, regexp.MustCompile(`▸ [^\n]*tcp ×2 out`).MatchString)
	agents := descendants(t, c.cmd.Process.Pid)
	c.keys("k")
	c.await("End the session of 127.0.0.1:", "n leave it")
	c.keys("y")
	c.await("1 client of 4", "native tcp ×2 ended by k")
	c.keys("q")
	c.await("Stop serving?")
	c.keys("y")
	if code := c.quit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	sent := c.sent()
	if after := sent[strings.LastIndex(sent, "\x1b[?1049l"):]; !strings.Contains(after, "2 sessions") || !strings.Contains(after, "ended by k") {
		t.Errorf("after the screen: %q", after)
	}
	waitGone(t, agents)
}

// TestServeScreenOnceEndsByItself serves one session on a terminal without UTF-8 and colours.
func TestServeScreenOnceEndsByItself(t *testing.T) {
	port := unusedPort(t)
	c := openConsole(t, 60, 16, []string{"TERM=vt100"}, "serve", "-1", "--native", "127.0.0.1:"+port)
	c.await("Nobody is here.", "* live")
	visit(t, port, "-t", "1")
	if code := c.quit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	if s := c.sent(); strings.Contains(s, "⠐") || strings.Contains(s, "\x1b[32m") {
		t.Error("a vt100 got braille or colours")
	}
}

// TestServeScreenOnManyTerminals starts and quits on terminals of all kinds.
func TestServeScreenOnManyTerminals(t *testing.T) {
	for _, tc := range []struct {
		name       string
		cols, rows int
		env        []string
		shows      string
	}{
		{"linux", 80, 24, []string{"TERM=linux"}, "Nobody is here."},
		{"no color", 80, 24, []string{"TERM=xterm-256color", "NO_COLOR=1"}, "● live"},
		{"not UTF-8", 80, 24, []string{"TERM=xterm", "LANG=C"}, "* live"},
		{"large", 200, 60, []string{"TERM=xterm-256color"}, "Nobody is here."},
		{"small", 40, 10, []string{"TERM=xterm-256color"}, "Nobody is here."},
		{"tiny", 20, 5, []string{"TERM=xterm-256color"}, "q"},
		{"serial without a size", 0, 0, []string{"TERM=vt100", "COLUMNS=", "LINES="}, "? help  q quit"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := openConsole(t, tc.cols, tc.rows, tc.env, "serve", "--native", "127.0.0.1:"+unusedPort(t))
			if tc.cols == 0 {
				c.mu.Lock()
				c.em.Resize(80, 24)
				c.mu.Unlock()
			}
			c.await(tc.shows, "0.0 Mbit/s")
			c.keys("q")
			if code := c.quit(); code != exitOK {
				t.Errorf("exit %d", code)
			}
			if m := regexp.MustCompile(`\x1b\[[0-9;]*\b3[1-6]m`).FindString(c.sent()); m != "" && (tc.name == "no color" || tc.cols == 0) {
				t.Errorf("it sent %q", m)
			}
		})
	}
}

// TestServePlainIsLines keeps the lines on a terminal that wants no screen.
func TestServePlainIsLines(t *testing.T) {
	for name, args := range map[string][]string{"plain": {"--plain"}, "json": {"--json"}} {
		t.Run(name, func(t *testing.T) {
			c := openConsole(t, 80, 24, []string{"TERM=xterm"}, append([]string{"serve", "--native", "127.0.0.1:" + unusedPort(t)}, args...)...)
			c.await("serving")
			c.cmd.Process.Signal(unix.SIGTERM)
			c.quit()
			if strings.Contains(c.sent(), "\x1b[?1049h") {
				t.Error("it showed a screen")
			}
		})
	}
}
