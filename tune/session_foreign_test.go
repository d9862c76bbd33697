package tune

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/tune/knob"
)

// TestUndoLeavesWhatSomebodyElseChanged: by hand meanwhile, it is theirs; the rest goes back, and restore says the same.
func TestUndoLeavesWhatSomebodyElseChanged(t *testing.T) {
	w := newWorld(t)
	s, tuner := w.begin(KindSession)
	apply(t, tuner, turn(backlog, "5"), turn(lowat, "6"), turn(output, "7"), turn("feature.tx", "off"))
	w.sys.values[backlog], w.sys.values[output] = "300", "1048576"
	for range 2 { // it is not forgotten, nor written the next time
		results, err := tuner.Undo(t.Context())
		if !errors.Is(err, ErrNotRestored) || !strings.Contains(err.Error(), "found 300, which is not ours: left") {
			t.Errorf("undo: %v", err)
		}
		for _, r := range results {
			if (r.Knob == backlog) != (r.Outcome == knob.Refused) || r.Knob == backlog && (r.From != "300" || r.Got != "300" || r.Value != "1000") {
				t.Errorf("%+v", r)
			}
		}
		if w.sys.values[backlog] != "300" || w.sys.values[lowat] != "4294967295" {
			t.Errorf("%v", w.sys.values)
		}
	}
	must(t, s.Close())
	if _, err := w.restore(RestoreOptions{}); !errors.Is(err, ErrNotRestored) || w.sys.values[backlog] != "300" {
		t.Errorf("restore: %v, %v", err, w.sys.values)
	}
	w.mustRestore(RestoreOptions{Force: true})
	if w.sys.values[backlog] != "1000" {
		t.Errorf("forced: %v", w.sys.values)
	}
}

// TestTwoStateDirs know nothing of each other, and neither loses the other's value.
func TestTwoStateDirs(t *testing.T) {
	w := newWorld(t)
	_, a := w.begin(KindSession)
	apply(t, a, turn(backlog, "5"))
	w.dir = filepath.Join(t.TempDir(), "other")
	_, b := w.begin(KindSession)
	apply(t, b, turn(backlog, "10"))
	if _, err := a.Undo(t.Context()); !errors.Is(err, ErrNotRestored) || w.sys.values[backlog] != "10" {
		t.Errorf("undo: %v, %v", err, w.sys.values)
	}
	undo(t, b)
	if w.sys.values[backlog] != "5" { // as it was found
		t.Errorf("%v", w.sys.values)
	}
	undo(t, a)
	if w.sys.values[backlog] != "1000" {
		t.Errorf("%v", w.sys.values)
	}
}

// TestUndoOfWhatTheKernelAdjusted: what was read after the write is ours, not only what was asked.
func TestUndoOfWhatTheKernelAdjusted(t *testing.T) {
	w := newWorld(t)
	s, tuner := w.begin(KindSession)
	tuner.families[0] = rounding{w.sys}
	if r := apply(t, tuner, turn(backlog, "1234"))[0]; r.Outcome != knob.Adjusted || r.Got != "1200" {
		t.Errorf("%+v", r)
	}
	undo(t, tuner)
	must(t, s.Close())
	if w.sys.values[backlog] != "1000" {
		t.Errorf("%v", w.sys.values)
	}
}

// rounding takes hundreds.
type rounding struct{ *sysctls }

func (f rounding) Write(ctx context.Context, settings []knob.Setting) error {
	err := f.sysctls.Write(ctx, settings)
	for _, s := range settings {
		f.values[s.Knob] = s.Value[:max(1, len(s.Value)-2)] + "00"
	}
	return err
}

// linked is a family in which backlog and output always have the same value.
type linked struct{ *sysctls }

func (f linked) Write(ctx context.Context, settings []knob.Setting) error {
	err := f.sysctls.Write(ctx, settings)
	for _, s := range settings {
		f.values[backlog], f.values[output] = s.Value, s.Value
	}
	return err
}

// TestMovedByAnothersUndo: what putting back the one's knob has done to the other's is not somebody else's doing.
func TestMovedByAnothersUndo(t *testing.T) {
	for _, how := range []string{"undo", "restore"} {
		w := newWorld(t)
		sa, a := w.begin(KindSession)
		sb, b := w.begin(KindSession)
		apply(t, a, turn(backlog, "5"), turn(output, "9"))
		apply(t, b, turn(output, "6"))
		a.families[0] = linked{w.sys}
		if how == "undo" {
			undo(t, a)
			must(t, sa.Close())
		} else {
			kill(sa)
			_, err := w.journal().Restore(t.Context(), RestoreOptions{}, func(string) ([]Family, func() error, error) {
				return []Family{linked{w.sys}}, func() error { return nil }, nil
			})
			must(t, err)
		}
		if w.sys.values[output] != "1000" {
			t.Fatalf("%s: %v", how, w.sys.values)
		}
		if list := w.entries(); len(list) != 1 || !list[0].Alive || list[0].Wrote != "1000" {
			t.Errorf("%s: %+v", how, list)
		}
		undo(t, b)
		must(t, sb.Close())
		if w.sys.values[output] != "1048576" {
			t.Errorf("%s: %v", how, w.sys.values)
		}
	}
}

// filling fills the disk at the first write.
type filling struct {
	*sysctls
	fill func()
}

func (f filling) Write(ctx context.Context, settings []knob.Setting) error {
	f.fill()
	return f.sysctls.Write(ctx, settings)
}

// TestKeptTurnThatCannotBeNoted is put back at once.
func TestKeptTurnThatCannotBeNoted(t *testing.T) {
	w := newWorld(t)
	w.dir = filepath.Join(mounted(t, "size=64k,mode=0700"), "ethtune")
	_, set := w.begin(KindKept)
	// The page that the journal is in is full as well.
	set.families[0] = filling{w.sys, func() {
		must(t, os.Truncate(filepath.Join(w.dir, journalName), 4096))
		if err := os.WriteFile(filepath.Join(w.dir, "ballast"), make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
			t.Errorf("the disk is not full: %v", err)
		}
		set.log.ledger.size = 4096
	}}
	r := apply(t, set, turn(backlog, "5"))[0]
	if r.Outcome != knob.Refused || r.Got != "1000" || r.From != "1000" || len(r.Undo) != 0 ||
		!strings.HasPrefix(r.Reason, "could not be written down, put back: ") || !strings.Contains(r.Reason, "no space left") {
		t.Errorf("%+v", r)
	}
	if w.sys.values[backlog] != "1000" {
		t.Errorf("%v", w.sys.values)
	}
}

// TestRestoreOnAFullDisk: a journal with nothing in it needs no room.
func TestRestoreOnAFullDisk(t *testing.T) {
	w := newWorld(t)
	mount := mounted(t, "size=64k,mode=0700")
	w.dir = filepath.Join(mount, "ethtune")
	found := w.states()
	s, tuner := w.begin(KindSession)
	apply(t, tuner, turn(backlog, "5"), turn("feature.tx", "off"))
	kill(s)
	if err := os.WriteFile(filepath.Join(mount, "ballast"), make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	for range 2 {
		w.mustRestore(RestoreOptions{})
		w.same(found)
	}
	if len(written(t, w)) != 0 || len(w.entries()) != 0 {
		t.Error("something is left in the journal")
	}
}
