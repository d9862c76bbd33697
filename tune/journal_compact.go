package tune

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

const (
	renewedName = "journal.new"
	damagedName = "journal.damaged"
	// maxHistory bounds the entries of earlier boots, and maxFlaws the damaged lines, that are carried on.
	maxHistory = 64
	maxFlaws   = 16
)

// compact writes the book anew, beside the file and then in its place. Damaged lines are carried on, since nobody may have
// been told of them, and so are entries of earlier boots; forget leaves both out. Where damaged lines are left out the file
// that had them is there afterwards as journal.damaged, in the place of an earlier one.
func (l *ledger) compact(forget bool) error {
	l.sweep()
	if l.file == nil {
		return nil
	}
	l.j.book = nil // until the file says what the book does
	boot, err := l.j.look(0)
	if err != nil {
		return err
	}
	l.book.dropHistory(boot.Boot, forget)
	carried := l.book.flaws[max(0, len(l.book.flaws)-maxFlaws):]
	if forget {
		carried = nil
	}
	aside := len(carried) < len(l.book.flaws)
	out, err := l.book.encode(carried)
	switch {
	case err != nil:
		return err
	case len(out) == 0:
		return l.empty(aside)
	case aside:
		if err := l.copyAside(); err != nil {
			return err
		}
	}
	f, err := l.j.create(renewedName, out)
	if err != nil {
		return err
	}
	if err := l.j.rename(renewedName, journalName); err != nil {
		return errors.Join(err, f.Close(), ignoreMissing(unix.Unlinkat(int(l.j.dir.Fd()), renewedName, 0)))
	}
	l.file.Close()
	l.file, l.size, l.bare = f, int64(len(out)), false
	// Numbers of lines are those of the new file from here on.
	l.book = parseBook(out)
	return l.remember()
}

// encode is the damaged lines and then the book, twice where that leaves room: a compacted line is the only one that says
// what it says.
func (b *book) encode(flaws []flaw) (out []byte, err error) {
	for _, f := range flaws {
		out = append(append(out, f.text...), '\n')
	}
	var once []byte
	for _, ln := range b.lines() {
		text, err := ln.encode()
		if err != nil {
			return nil, err
		}
		once = append(once, text...)
	}
	out = append(out, once...)
	if len(out)+len(once) < maxJournal/2 {
		out = append(out, once...)
	}
	return out, nil
}

// empty makes the file one that says nothing, which takes no room on the disk.
func (l *ledger) empty(aside bool) error {
	if aside {
		if err := l.j.rename(journalName, damagedName); err != nil {
			return err
		}
		l.file.Close()
		l.file, l.size, l.bare, l.book = nil, 0, false, newBook()
		return nil
	}
	if err := l.file.Truncate(0); err != nil {
		return err
	}
	if err := l.file.Sync(); err != nil {
		return err
	}
	l.size, l.bare, l.book = 0, false, newBook()
	return l.remember()
}

// copyAside has the file a second time under the name of the damaged one: renamed, it would be missing until the new one
// is in its place.
func (l *ledger) copyAside() error {
	text, err := io.ReadAll(io.NewSectionReader(l.file, 0, maxJournal))
	if err != nil {
		return err
	}
	f, err := l.j.create(renewedName, text)
	if err != nil {
		return err
	}
	defer f.Close()
	return l.j.rename(renewedName, damagedName)
}

// create makes a new file with the text, on the disk, in the place of one of that name which a crash left behind.
func (j *Journal) create(name string, text []byte) (*os.File, error) {
	dir := int(j.dir.Fd())
	if err := ignoreMissing(unix.Unlinkat(dir, name, 0)); err != nil {
		return nil, err
	}
	f, err := j.openat(name, unix.O_RDWR|unix.O_APPEND|unix.O_CREAT|unix.O_EXCL)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return nil, errors.Join(err, f.Close(), ignoreMissing(unix.Unlinkat(dir, name, 0)))
	}
	return f, nil
}

// rename gives a file of the directory another name, on the disk.
func (j *Journal) rename(from, to string) error {
	dir := int(j.dir.Fd())
	if err := unix.Renameat(dir, from, dir, to); err != nil {
		return fmt.Errorf("rename %s to %s: %w", from, to, err)
	}
	return j.dir.Sync()
}

func ignoreMissing(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// conclude appends lines that end holds and makes the file small. Where there is no room for another line, the file
// without what has ended says the same.
func (l *ledger) conclude(forget bool, lines []line) error {
	noted := l.append(lines...)
	if noted != nil {
		l.j.book = nil
		for _, ln := range lines {
			l.book.add(ln)
		}
	}
	if l.compact(forget) == nil {
		return nil
	}
	return noted // which is right without being small
}

// dropHistory forgets the oldest entries of earlier boots, or all of them.
func (b *book) dropHistory(boot string, all bool) {
	var old []*entry
	for _, e := range b.order {
		if e.spot.where.Boot != boot {
			old = append(old, e)
		}
	}
	if !all {
		old = old[:max(0, len(old)-maxHistory)]
	}
	for _, e := range old {
		e.holds, e.kept = nil, nil
		b.tidy(e)
	}
}
