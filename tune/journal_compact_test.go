package tune

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ethtune/ethtune/tune/knob"
)

// compacted is a host whose journal was just made small: it has a kept value, one that a session held when it died and one
// that a turn of it may have moved.
func compacted(t *testing.T) (w *world, text []byte) {
	t.Helper()
	w = newWorld(t)
	kept, set := w.begin(KindKept)
	apply(t, set, turn(backlog, "2000"))
	must(t, kept.Close())
	s, tuner := w.begin(KindSession)
	apply(t, tuner, turn(lowat, "6"), turn(backlog, "5"))
	life := 1
	tuner.families[0] = mortal{w.sys, &life, true}
	if !do(func() { apply(t, tuner, turn(output, "7")) }) {
		t.Fatal("nobody died")
	}
	tuner.log.end()
	kill(s)
	l, err := w.journal().lock(t.Context())
	must(t, err, l.compact(false))
	l.unlock()
	text = written(t, w)
	if n := bytes.Count(text, []byte("\n")); n%2 != 0 || n < 6 || !bytes.Equal(text[:len(text)/2], text[len(text)/2:]) {
		t.Fatalf("%d lines:\n%s", n, text)
	}
	return w, text
}

// again makes the host as compacted left it, with that text for a journal.
func (w *world) again(text []byte) {
	w.t.Helper()
	w.sys.values[backlog], w.sys.values[lowat], w.sys.values[output] = "5", "6", "7"
	w.put(text)
}

// TestEveryBitOfACompactedJournal: whichever is flipped, every first value is known, and the damaged file stays.
func TestEveryBitOfACompactedJournal(t *testing.T) {
	w, text := compacted(t)
	found := newSysctls().values
	want := parseBook(text)
	for bit := range 8 * len(text) {
		bad := slices.Clone(text)
		bad[bit/8] ^= 1 << (bit % 8)
		b := parseBook(bad)
		if !errors.Is(b.damage(), ErrDamaged) || len(b.entries) != len(want.entries) {
			t.Fatalf("bit %d: %d entries, %v", bit, len(b.entries), b.damage())
		}
		for at, e := range want.entries {
			got := b.entries[at]
			if got == nil || got.first != e.first || got.got != e.got || len(got.holds) != len(e.holds) ||
				got.doubtful() != e.doubtful() || (got.kept == nil) != (e.kept == nil) || e.kept != nil && *got.kept != *e.kept {
				t.Fatalf("bit %d: %+v, not %+v", bit, got, e)
			}
		}
		if bit%211 != 0 { // the whole way back at some
			continue
		}
		w.again(bad)
		_, err := w.restore(RestoreOptions{KeptToo: true})
		damaged := filepath.Join(w.dir, damagedName)
		if !errors.Is(err, ErrDamaged) || errors.Is(err, ErrNotRestored) || !strings.HasSuffix(err.Error(), "the file is now "+damaged) {
			t.Fatalf("bit %d: %v", bit, err)
		}
		if kept, err := os.ReadFile(damaged); err != nil || !bytes.HasPrefix(kept, bad) {
			t.Fatalf("bit %d: the damaged file: %v", bit, err)
		}
		for name, value := range found {
			if w.sys.values[name] != value {
				t.Fatalf("bit %d: %s is %s", bit, name, w.sys.values[name])
			}
		}
		w.mustRestore(RestoreOptions{KeptToo: true}) // told once
	}
}

// TestEveryCutOfACompactedJournal: a cut that leaves each line once loses nothing; of one before that, which no crash makes,
// it is told that something is lost, whatever is appended afterwards.
func TestEveryCutOfACompactedJournal(t *testing.T) {
	w, text := compacted(t)
	found := newSysctls().values
	half := len(text)/2 - 1 // the newline is no loss
	for cut := 1; cut <= len(text); cut++ {
		b := parseBook(text[:cut])
		if (b.damage() == nil) != (cut == len(text) || cut >= half && decodes(text[:cut])) {
			t.Fatalf("cut at %d: %v", cut, b.damage())
		}
		switch lost := errors.Is(b.damage(), ErrDamaged); {
		case lost != (cut < half) && !(b.bare && !lost && !strings.Contains(b.damage().Error(), "nothing is lost")):
			t.Fatalf("cut at %d of %d: %v", cut, len(text), b.damage())
		case lost && cut%53 == 0:
			w.again(text[:cut])
			s, tuner := w.begin(KindSession)
			for range 8 {
				apply(t, tuner, turn("dev.mtu", "1400"), turn("dev.mtu", "1500"))
			}
			undo(t, tuner)
			must(t, s.Close())
			if _, err := w.restore(RestoreOptions{}); !errors.Is(err, ErrDamaged) {
				t.Fatalf("cut at %d: not told: %v", cut, err)
			}
		case !lost && cut >= half && cut%17 == 0:
			w.again(text[:cut])
			if _, err := w.restore(RestoreOptions{KeptToo: true}); err != nil && (!errors.Is(err, ErrTorn) || errors.Is(err, ErrNotRestored)) {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			for name, value := range found {
				if w.sys.values[name] != value {
					t.Fatalf("cut at %d: %s is %s", cut, name, w.sys.values[name])
				}
			}
		}
	}
}

// decodes reports whether the text ends with a whole line.
func decodes(text []byte) bool {
	text = bytes.TrimSuffix(text, []byte("\n"))
	_, err := decodeLine(text[1+bytes.LastIndexByte(text, '\n'):])
	return err == nil
}

// TestManyDamagedLines: those that are not carried on are in the file that is set aside.
func TestManyDamagedLines(t *testing.T) {
	w, text := compacted(t)
	noise := bytes.Repeat([]byte("noise\n"), 3*maxFlaws)
	w.again(append(noise, text...))
	s, tuner := w.begin(KindSession)
	apply(t, tuner, turn("dev.mtu", "1400"))
	undo(t, tuner)
	must(t, s.Close())
	if aside, err := os.ReadFile(filepath.Join(w.dir, damagedName)); err != nil || !bytes.HasPrefix(aside, noise) {
		t.Errorf("set aside: %v", err)
	}
	if _, err := w.restore(RestoreOptions{KeptToo: true}); !errors.Is(err, ErrDamaged) || errors.Is(err, ErrNotRestored) {
		t.Errorf("restore: %v", err)
	}
}

// TestKeptWithALivingHolder: what is kept cannot be put back while a session goes back to it, and the words say so.
func TestKeptWithALivingHolder(t *testing.T) {
	w := newWorld(t)
	kept, set := w.begin(KindKept)
	apply(t, set, turn(backlog, "2000"))
	must(t, kept.Close())
	dead, crashing := w.begin(KindSession)
	apply(t, crashing, turn(lowat, "6"))
	kill(dead)
	s, tuner := w.begin(KindSession)
	apply(t, tuner, turn(backlog, "5"), turn(lowat, "7"))
	for _, dry := range []bool{true, false} {
		results, err := w.restore(RestoreOptions{KeptToo: true, DryRun: dry})
		if errors.Is(err, ErrNotRestored) == dry || len(results) != 2 {
			t.Fatalf("dry %t: %v, %+v", dry, err, results)
		}
		for _, r := range results {
			outcome, words, now := knob.Refused, "has turned it too; run knob restore again when it has ended", "5"
			if r.Knob == lowat {
				outcome, words, now = knob.Unchanged, "has turned it too and puts it back when it ends", "7"
			}
			if r.Outcome != outcome || r.From != now || r.Got != now || !strings.HasSuffix(r.Reason, words) || !strings.HasPrefix(r.Reason, "pid ") {
				t.Errorf("dry %t: %+v", dry, r)
			}
		}
	}
	undo(t, tuner)
	must(t, s.Close())
	w.mustRestore(RestoreOptions{KeptToo: true})
	if w.sys.values[backlog] != "1000" || w.sys.values[lowat] != "4294967295" {
		t.Errorf("%v", w.sys.values)
	}
}
