package term

import (
	"os"
	"testing"
	"time"

	xterm "github.com/charmbracelet/x/term"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// The screen library takes a writer for a terminal if it is one of these.
var _ xterm.File = (*Writer)(nil)

// need skips a test that cannot run here, and fails it where everything is required to run.
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

// terminal opens a pseudo terminal: what we write on comes out of master.
func terminal(t *testing.T) (master, tty *os.File) {
	t.Helper()
	master, tty, err := pty.Open()
	need(t, err == nil, "needs a pseudo terminal (a mounted /dev/pts)")
	t.Cleanup(func() {
		tty.Close()
		master.Close()
	})
	return master, tty
}

func TestDetectTerminal(t *testing.T) {
	_, tty := terminal(t)
	env := environ("COLUMNS", "100", "LINES", "30")

	got := Detect(env, tty)
	if !got.TTY || got.Columns != 100 || got.Rows != 30 {
		t.Errorf("a terminal of 0x0: got %+v, want 100x30 of the environment", got)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Cols: 132, Rows: 43}); err != nil {
		t.Fatal(err)
	}
	got = Detect(env, tty)
	if got.Columns != 132 || got.Rows != 43 {
		t.Errorf("got %+v, want the kernel's 132x43", got)
	}
	if got.Baud != 0 {
		t.Errorf("a pseudo terminal has a line speed of %d", got.Baud)
	}
}

func TestLineSpeed(t *testing.T) {
	_, tty := terminal(t)
	for _, want := range []int{9600, 115200, 74880} {
		err := control(tty, func(fd int) error {
			tio, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
			if err != nil {
				return err
			}
			tio.Cflag = tio.Cflag&^unix.CBAUD | unix.BOTHER
			tio.Ispeed, tio.Ospeed = uint32(want), uint32(want)
			if err := unix.IoctlSetTermios(fd, unix.TCSETS2, tio); err != nil {
				return err
			}
			got, err := lineSpeed(fd)
			if err == nil && got != want {
				t.Errorf("got %d bit/s, want %d", got, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestIsLine(t *testing.T) {
	for _, c := range []struct {
		name         string
		major, minor uint32
		want         bool
	}{
		{"/dev/pts/0", 136, 0, false},
		{"/dev/tty1", 4, 1, false},
		{"/dev/ttyS0", 4, 64, true},
		{"/dev/ttyAMA0", 204, 64, true},
		{"/dev/ttyUSB0", 188, 0, true},
		{"/dev/tty", 5, 0, false},
		{"/dev/console", 5, 1, false},
	} {
		if got := isLine(c.major, c.minor); got != c.want {
			t.Errorf("%s: got %v", c.name, got)
		}
	}
}

// TestStuckTerminal writes on a terminal that nobody reads until it takes no more.
func TestStuckTerminal(t *testing.T) {
	master, tty := terminal(t)
	clock := newClock()
	w := NewWriter(tty, 0, 0, clock.now)
	if w.Stuck(0) {
		t.Fatal("stuck before anything was written")
	}
	done := make(chan error, 1)
	go func() {
		_, err := w.Write(make([]byte, 1<<20))
		done <- err
	}()
	until(t, func() bool { return w.Stuck(0) })
	if w.Stuck(5 * time.Second) {
		t.Error("stuck for 5 s at once")
	}
	if w.Ready() {
		t.Error("ready for a frame while a write is under way")
	}
	clock.add(5 * time.Second)
	if !w.Stuck(5 * time.Second) {
		t.Error("not stuck after 5 s")
	}
	master.Close() // The line goes away, and with it whoever waits for it.
	select {
	case err := <-done:
		if err == nil {
			t.Error("a write to a terminal that is gone succeeded")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the write did not end with the terminal")
	}
	if w.Stuck(0) {
		t.Error("stuck after the write ended")
	}
}

// TestFile keeps the methods by which a screen library knows a terminal.
func TestFile(t *testing.T) {
	_, tty := terminal(t)
	w := NewWriter(tty, 0, 0, nil)
	if w.Fd() != tty.Fd() {
		t.Error("the descriptor is not that of the terminal")
	}
	if n := w.Pending(); n != 0 {
		t.Errorf("%d bytes pending on an idle terminal", n)
	}
	if !w.Ready() {
		t.Error("not ready at first")
	}
}

// until waits for a condition that another goroutine brings about.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal("waited 10 s in vain")
		}
	}
}
