package tune

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

const (
	sessionPrefix = "session-"
	// maxSessions bounds the files of the directory that are looked at in one go.
	maxSessions = 1024
)

// Session is one run of the program as the journal sees it. It holds a lock for its life, which the kernel takes away
// when the process ends in whatever way: a session is dead when its lock can be taken. Its methods may be called by any
// goroutine.
type Session struct {
	journal *Journal
	kind    Kind
	id      string

	turn atomic.Int64 // number of the last turn

	mu   sync.Mutex
	lock int // the descriptor that holds the lock; -1 after Close
}

// Begin begins a session. What is turned in one of KindKept stays when it ends.
func (j *Journal) Begin(kind Kind) (*Session, error) {
	if kind != KindSession && kind != KindKept {
		return nil, fmt.Errorf("journal: no session is %q", kind)
	}
	var id [sessionLen / 2]byte
	rand.Read(id[:]) // never fails
	s := &Session{journal: j, kind: kind, id: hex.EncodeToString(id[:])}
	// Nobody may look at the new file before it is locked.
	l, err := j.lock(context.Background())
	if err != nil {
		return nil, err
	}
	defer l.unlock()
	const flags = unix.O_RDONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	s.lock, err = unix.Openat(int(j.dir.Fd()), sessionPrefix+s.id, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal %s: begin a session: %w", j.name, err)
	}
	if err := unix.Flock(s.lock, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		unix.Close(s.lock)
		return nil, fmt.Errorf("journal %s: lock the session: %w", j.name, err)
	}
	return s, nil
}

// Close ends the session. What it still holds is from then on for others to put back. It may be called twice.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock < 0 {
		return nil
	}
	defer func() { s.lock = -1 }()
	l, err := s.journal.lock(context.Background())
	if err != nil {
		return errors.Join(err, unix.Close(s.lock))
	}
	defer l.unlock()
	_ = unix.Unlinkat(int(s.journal.dir.Fd()), sessionPrefix+s.id, 0) // else the next sweep does it
	if err := unix.Close(s.lock); err != nil {
		return err
	}
	if s.turn.Load() > 0 {
		_ = l.compact(false) // the journal is right without it, only longer
	}
	return nil
}

// by is what the lines of the session bear.
func (s *Session) by() holder { return holder{s.id, os.Getpid(), now()} }

// alive reports whether the session's lock is held.
func (l *ledger) alive(session string) bool {
	if known, ok := l.living[session]; ok {
		return known
	}
	fd, err := unix.Openat(int(l.j.dir.Fd()), sessionPrefix+session, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		l.living[session] = false
		return false
	}
	defer unix.Close(fd)
	err = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	l.living[session] = errors.Is(err, unix.EWOULDBLOCK)
	return l.living[session]
}
