package tune

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ErrDamaged is a journal with lines that cannot be understood. The error says which; it is a warning, since the others
// count all the same.
var ErrDamaged = errors.New("the journal is damaged")

// ErrTorn is a journal whose last line was never finished. It is a notice: no turn was begun on the strength of that line,
// and a copy that was cut off where nothing else says the same is [ErrDamaged].
var ErrTorn = errors.New("the last line of the journal is cut off")

const (
	journalName = "journal"
	// maxJournal bounds the file in bytes. It is made smaller when it has compactAt, so only damage brings it there.
	maxJournal = 4 << 20
	compactAt  = 256 << 10
)

// ledger is the journal while it is locked.
type ledger struct {
	j      *Journal
	book   *book
	file   *os.File // nil until there is one
	size   int64
	bare   bool // the last line, which counts, has no newline
	living map[string]bool
}

// unlock lets others at it.
func (l *ledger) unlock() {
	if l.file != nil {
		l.file.Close()
	}
	// Closing the file of the directory unlocks too, so an error here means that it is closed.
	_ = unix.Flock(int(l.j.dir.Fd()), unix.LOCK_UN)
	l.j.mu.Unlock()
}

// load opens the file, if it is there, and reads it unless it is as it was last seen.
func (l *ledger) load() error {
	err := l.open(unix.O_RDWR | unix.O_APPEND)
	if errors.Is(err, unix.EROFS) || errors.Is(err, unix.EACCES) {
		err = l.open(unix.O_RDONLY)
	}
	if errors.Is(err, unix.ENOENT) {
		l.book = newBook()
		return nil
	}
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(l.file.Fd()), &st); err != nil {
		return err
	}
	if st.Size > maxJournal {
		return fmt.Errorf("%d bytes long, more than %d: move it away", st.Size, maxJournal)
	}
	l.size = st.Size
	if now := stampOf(st); l.j.book != nil && l.j.seen == now {
		l.book = l.j.book
		return nil
	}
	text, err := io.ReadAll(io.NewSectionReader(l.file, 0, st.Size))
	if err != nil {
		return err
	}
	l.book = parseBook(text)
	// The unfinished line goes with the next append.
	l.size -= int64(l.book.torn)
	l.bare = l.size > 0 && text[l.size-1] != '\n'
	if !l.bare && l.book.torn == 0 {
		l.j.book, l.j.seen = l.book, stampOf(st)
	}
	return nil
}

func (l *ledger) open(flags int) error {
	f, err := l.j.openat(journalName, flags)
	if err != nil {
		return err
	}
	l.file = f
	return nil
}

// openat opens a file of the directory that is ours alone, and never what a link points to.
func (j *Journal) openat(name string, flags int) (*os.File, error) {
	fd, err := unix.Openat(int(j.dir.Fd()), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
	if errors.Is(err, unix.ELOOP) {
		return nil, fmt.Errorf("%s is a symbolic link: remove it", name)
	}
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), j.name+"/"+name)
	if err := checkOwn(f, unix.S_IFREG); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// append writes the lines and has them on the disk before it returns. If it cannot, the journal is as it was before.
func (l *ledger) append(lines ...line) error {
	if len(lines) == 0 {
		return nil
	}
	var out []byte
	if l.bare {
		out = []byte("\n")
	}
	for _, ln := range lines {
		text, err := ln.encode()
		if err != nil {
			return err
		}
		out = append(out, text...)
	}
	if l.size > compactAt {
		// Where it does not help there is still room up to maxJournal.
		_ = l.compact(false)
	}
	if l.size+int64(len(out)) > maxJournal {
		return fmt.Errorf("full: more than %d bytes", maxJournal)
	}
	if l.file == nil {
		if err := l.open(unix.O_RDWR | unix.O_APPEND | unix.O_CREAT); err != nil {
			return err
		}
		if err := l.j.dir.Sync(); err != nil {
			return err
		}
	}
	l.j.book = nil
	if l.book.torn > 0 {
		if err := l.file.Truncate(l.size); err != nil {
			return err
		}
		l.book.torn = 0
	}
	if _, err := l.file.Write(out); err != nil {
		return errors.Join(err, l.file.Truncate(l.size))
	}
	if err := l.file.Sync(); err != nil {
		return errors.Join(err, l.file.Truncate(l.size))
	}
	l.size, l.bare = l.size+int64(len(out)), false
	for _, ln := range lines {
		l.book.add(ln)
	}
	return l.remember()
}

// remember notes that the book is what the file says.
func (l *ledger) remember() error {
	var st unix.Stat_t
	if err := unix.Fstat(int(l.file.Fd()), &st); err != nil {
		return err
	}
	l.j.book, l.j.seen = l.book, stampOf(st)
	return nil
}

// sweep removes the lock files of sessions that are dead and hold nothing. What cannot be removed now can be the next
// time.
func (l *ledger) sweep() {
	dir, err := l.j.openDir()
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(maxSessions)
	for _, name := range names {
		id, ok := strings.CutPrefix(name, sessionPrefix)
		if ok && !l.alive(id) && !l.book.has(id) {
			_ = unix.Unlinkat(int(l.j.dir.Fd()), name, 0)
		}
	}
}

func (j *Journal) openDir() (*os.File, error) {
	fd, err := unix.Openat(int(j.dir.Fd()), ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), j.name), nil
}

// has reports whether the session holds anything.
func (b *book) has(session string) bool {
	for _, e := range b.order {
		if e.hold(session) != nil {
			return true
		}
	}
	return false
}

// now is the time a line bears.
func now() time.Time { return time.Now().UTC().Truncate(time.Second) }

// oneLine is an error of several as one line.
func oneLine(err error) string {
	return string(bytes.ReplaceAll([]byte(err.Error()), []byte("\n"), []byte("; ")))
}
