package tune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Kind says how long what was turned is to stay.
type Kind string

// The kinds.
const (
	KindSession Kind = "session" // undone when the session ends, offered for it after a crash
	KindKept    Kind = "kept"    // put back only when somebody asks for it
)

// lockWait is how long a turn waits for the journal. A turn of another session holds it for as long as the kernel takes,
// which is seconds where a link resets.
const lockWait = 10 * time.Second

// lockPoll is how often the lock is tried meanwhile. flock(2) has no time limit of its own, and one that is waited for in
// the kernel cannot be given up.
const lockPoll = 2 * time.Millisecond

// Journal is the file in which everything that outlives this process is written down before the kernel is touched, so
// that it can be put back by anybody later. All sessions of a host share one; whoever reads or writes it holds a lock on
// its directory meanwhile. Its methods may be called by any goroutine.
type Journal struct {
	name string // of the directory, for messages
	look func(ifindex int) (Where, error)

	mu  sync.Mutex // beside the lock of the directory, which does not keep apart the goroutines of one process
	dir *os.File
	// What the file held when it was last read or written here, and which file that was.
	book *book
	seen stamp
}

// stamp tells one state of the file from another: it grows, is emptied, or is replaced by one with another inode, which
// the file system may give again.
type stamp struct {
	ino     uint64
	size    int64
	changed unix.Timespec
}

func stampOf(st unix.Stat_t) stamp { return stamp{st.Ino, st.Size, st.Ctim} }

// OpenJournal opens the journal in the directory dir, an absolute path, and makes the directory (mode 0700) where it is
// missing. It is refused where anybody else could write: dir must be a real directory, owned by the effective user and
// writable by nobody else. The Journal is the caller's to close.
func OpenJournal(dir string) (*Journal, error) {
	f, err := openPlace(dir)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &Journal{name: dir, dir: f, look: whereIndex}, nil
}

// Close lets go of the directory. Sessions that are still open keep their locks, and can no longer write.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.dir.Close()
}

// lock waits for the journal and reads it. The caller unlocks.
func (j *Journal) lock(ctx context.Context) (*ledger, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lockWait, errors.New("another session holds it"))
	defer cancel()
	j.mu.Lock()
	if err := j.flock(ctx); err != nil {
		j.mu.Unlock()
		return nil, fmt.Errorf("journal %s: lock: %w", j.name, err)
	}
	l := &ledger{j: j, living: make(map[string]bool)}
	if err := l.load(); err != nil {
		l.unlock()
		return nil, fmt.Errorf("journal %s: %w", j.name, err)
	}
	return l, nil
}

func (j *Journal) flock(ctx context.Context) error {
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		err := unix.Flock(int(j.dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}
