package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ethtune/ethtune/tune/rig"
	"golang.org/x/sys/unix"
)

// Spawned is an agent that is a child of this process.
type Spawned struct {
	*Remote
	cmd   *exec.Cmd
	words LastWords
}

// Spawn starts command, which must serve on its standard input and output, in its own process group, and returns its
// Rig. Closing the Rig ends the process.
func Spawn(ctx context.Context, command []string) (*Spawned, error) {
	ours, theirs, err := StreamPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	s := &Spawned{cmd: exec.Command(command[0], command[1:]...)}
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = theirs, theirs, &s.words
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.cmd.WaitDelay = time.Second
	if err := s.cmd.Start(); err != nil {
		ours.Close()
		return nil, fmt.Errorf("agent: %w", err)
	}
	theirs.Close() // or the end of the child would not be the end of the stream
	if s.Remote, err = Dial(ctx, ours); err != nil {
		return nil, errors.Join(err, s.reap())
	}
	return s, nil
}

// Close ends the stream and waits for the process.
func (s *Spawned) Close() error { return errors.Join(s.Remote.Close(), s.reap()) }

// reap waits for the process, which ends by itself when its stream does, and ends it if it does not.
func (s *Spawned) reap() error {
	stuck := time.AfterFunc(silence, func() { s.cmd.Process.Kill() })
	defer stuck.Stop()
	err := s.cmd.Wait()
	if words := s.words.String(); err != nil && words != "" {
		return fmt.Errorf("%w: %s", rig.ErrLost, words)
	}
	return nil
}

// StreamPair returns the two ends of a new stream: ours as a connection, and theirs as the file to hand to a child.
func StreamPair() (ours net.Conn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	file := os.NewFile(uintptr(fds[0]), "stream")
	theirs = os.NewFile(uintptr(fds[1]), "agent's stream")
	defer file.Close() // FileConn duplicates it
	if ours, err = net.FileConn(file); err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// maxWords is how much of a child's standard error is kept, in bytes.
const maxWords = 2048

// LastWords keeps the end of a child's standard error, which must never reach the screen. The zero value is ready.
type LastWords struct {
	mu sync.Mutex
	b  []byte
}

// Write keeps the end of what was written.
func (l *LastWords) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, p...)
	if n := len(l.b) - maxWords; n > 0 {
		l.b = append(l.b[:0], l.b[n:]...)
	}
	return len(p), nil
}

// String is the first line of what was kept.
func (l *LastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	line, _, _ := strings.Cut(strings.TrimSpace(string(l.b)), "\n")
	return line
}
