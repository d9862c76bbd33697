package tune

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ethtune/ethtune/tune/knob"
)

// written is the text of a journal of few and short lines.
func written(t *testing.T, w *world) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, journalName))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// rows are the lines that are understood, as text.
func rows(text []byte) (good []string, flaws []flaw) {
	flaws = parseBook(text).flaws
	for row := range bytes.Lines(text) {
		for _, part := range splitHeads(bytes.TrimSuffix(row, []byte("\n"))) {
			if _, err := decodeLine(part); err == nil && !slices.ContainsFunc(flaws, func(f flaw) bool { return bytes.Equal(f.text, part) }) {
				good = append(good, string(part))
			}
		}
	}
	return good, flaws
}

// TestEveryBitFlipped: the line with the bit is named, the others count, and nothing is understood that was not written.
func TestEveryBitFlipped(t *testing.T) {
	w := newWorld(t)
	s, tuner := w.begin(KindSession)
	apply(t, tuner, turn(backlog, "5"), turn(lowat, "6"))
	kill(s)
	text := written(t, w)
	all, flaws := rows(text)
	if len(all) != 4 || len(flaws) != 0 {
		t.Fatalf("%d lines, %v", len(all), flaws)
	}
	for bit := range 8 * len(text) {
		bad := slices.Clone(text)
		bad[bit/8] ^= 1 << (bit % 8)
		// The line that the bit is in, or, where it is in the newline after it, the same. A line that fell in two is two.
		at := 1 + bytes.Count(text[:bit/8], []byte("\n"))
		good, flaws := rows(bad)
		for _, row := range good {
			if !slices.Contains(all, row) {
				t.Fatalf("bit %d: understood %s", bit, row)
			}
		}
		if len(good) != len(all)-1 || len(flaws) == 0 || len(flaws) > 2 || flaws[0].number != at {
			t.Fatalf("bit %d of line %d: %d lines left, flaws %+v", bit, at, len(good), flaws)
		}
		if why := parseBook(bad).damage(); !errors.Is(why, ErrDamaged) || !strings.Contains(why.Error(), fmt.Sprintf("line %d", at)) || strings.Contains(why.Error(), "\n") {
			t.Fatalf("bit %d: %v", bit, why)
		}
	}
}

// TestFlippedBitsAndRestore: whatever line is lost, restore says so once, writes nothing that was not there before, and a
// living session still puts back its own from memory.
func TestFlippedBitsAndRestore(t *testing.T) {
	for at := range 4 {
		w := newWorld(t)
		found := w.states()
		s, tuner := w.begin(KindSession)
		apply(t, tuner, turn(backlog, "5"), turn(lowat, "6"))
		text := bytes.SplitAfter(written(t, w), []byte("\n"))
		text[at][40] ^= 1
		if err := os.WriteFile(filepath.Join(w.dir, journalName), bytes.Join(text, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := w.restore(RestoreOptions{})
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("line %d", at+1)) || w.sys.values[backlog] != "5" {
			t.Errorf("line %d: %v, %v", at+1, err, w.sys.values)
		}
		if at%2 == 0 {
			apply(t, tuner, turn(backlog, "7")) // the original that is written again is the first
			kill(s)
			_, tuner = w.begin(KindSession)
			apply(t, tuner, turn(backlog, "8"), turn(lowat, "9"))
			if at == 2 {
				continue // the line of lowat's original is gone with the only one who knew
			}
		}
		undo(t, tuner)
		w.mustRestore(RestoreOptions{})
		w.same(found)
	}
}

// TestCutAtEveryByte: a crash while a line is written loses no more than that line, and the kernel is as the lines before
// say, or as the turn that was just written made it.
func TestCutAtEveryByte(t *testing.T) {
	for _, tt := range []struct {
		turns []knob.Setting
		step  int // the whole way back at some bytes, and around every newline
	}{
		{[]knob.Setting{turn(backlog, "5"), turn(lowat, "6"), turn(backlog, "7")}, 7},
		{[]knob.Setting{turn("feature.tx", "off"), turn("dev.mtu", "1400")}, 97},
	} {
		full := newWorld(t)
		s, tuner := full.begin(KindSession)
		apply(t, tuner, tt.turns...)
		kill(s)
		text := written(t, full)
		if n := bytes.Count(text, []byte("\n")); n != 2*len(tt.turns) {
			t.Fatalf("%d lines", n)
		}
		for cut := range len(text) + 1 {
			whole := bytes.Count(text[:cut], []byte("\n"))
			atLine := cut == 0 || cut == len(text) || text[cut-1] == '\n'
			if cut < len(text) && text[cut] == '\n' {
				whole++ // only the newline is missing
				atLine = true
			}
			last := text[1+bytes.LastIndexByte(text[:cut], '\n') : cut]
			if _, err := decodeLine(last); (err == nil) != (atLine && len(last) > 0) {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			if !atLine && cut%tt.step != 0 {
				continue
			}
			for made := whole / 2; made <= (whole+1)/2; made++ {
				cutAndRestore(t, text[:cut], tt.turns[:made])
			}
			if good, flaws := rows(text[:cut]); len(good) != whole || len(flaws) > 0 {
				t.Fatalf("cut at %d: %d lines, flaws %v", cut, len(good), flaws)
			}
		}
	}
}

// cutAndRestore puts a host right of which the journal has the text and the kernel had the turns.
func cutAndRestore(t *testing.T, text []byte, turns []knob.Setting) {
	t.Helper()
	w := newWorld(t)
	found := w.states()
	apply(t, New(w.families()...), turns...)
	w.put(text)
	if _, err := w.restore(RestoreOptions{}); err != nil && !errors.Is(err, ErrTorn) || errors.Is(err, ErrNotRestored) {
		t.Errorf("restore: %v", err)
	}
	w.same(found)
	if list := w.entries(); len(list) != 0 {
		t.Errorf("left %+v", list)
	}
	if t.Failed() {
		t.Fatalf("cut at %d, %d turns", len(text), len(turns))
	}
}

// put makes the text the journal.
func (w *world) put(text []byte) {
	w.t.Helper()
	w.journal()
	if err := os.WriteFile(filepath.Join(w.dir, journalName), text, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// TestTornTail: it is said once, what is written next takes its place, and a damaged line is carried on until it is told.
func TestTornTail(t *testing.T) {
	w := newWorld(t)
	found := w.states()
	s, tuner := w.begin(KindSession)
	apply(t, tuner, turn(backlog, "5"))
	kill(s)
	text := written(t, w)
	w.put(text[:len(text)-20]) // within the line that says what came of it
	if list, err := w.journal().Stale(); !errors.Is(err, ErrTorn) || len(list) != 1 || !list[0].Doubt {
		t.Errorf("%+v, %v", list, err)
	}
	s, tuner = w.begin(KindSession)
	apply(t, tuner, turn(backlog, "6"))
	kill(s)
	if good, flaws := rows(written(t, w)); len(good) != 3 || len(flaws) != 0 {
		t.Errorf("%d lines, %+v", len(good), flaws)
	}
	text = written(t, w)
	text[40] ^= 1
	w.put(text)
	s, tuner = w.begin(KindSession)
	apply(t, tuner, turn(lowat, "6"))
	undo(t, tuner)
	s.Close() // makes the file small, and carries on what nobody was told of
	if _, err := w.restore(RestoreOptions{}); !errors.Is(err, ErrDamaged) || errors.Is(err, ErrNotRestored) {
		t.Errorf("restore: %v", err)
	}
	w.same(found)
	w.mustRestore(RestoreOptions{}) // told once
}

// TestForgedLines: a right checksum is not enough.
func TestForgedLines(t *testing.T) {
	w := newWorld(t)
	good := line{Op: opHeld, Session: "0123456789abcdef", PID: 1, At: now(), Where: w.here,
		Knobs: []item{{"dev.mtu", reading{Value: "1500"}, reading{Value: "1400"}}}}
	text, err := good.encode()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := decodeLine(bytes.TrimSpace(text)); err != nil || got.Knobs[0] != good.Knobs[0] || got.Where != w.here {
		t.Fatalf("%+v, %v", got, err)
	}
	for name, forge := range map[string]func(*line){
		"op":             func(l *line) { l.Op = "exec" },
		"session":        func(l *line) { l.Session = "../../etc/passwd" },
		"pid":            func(l *line) { l.PID = -1 },
		"knob":           func(l *line) { l.Knobs[0].Knob = "sysctl.kernel.core_pattern" },
		"alias":          func(l *line) { l.Knobs[0].Knob = "mtu" },
		"group":          func(l *line) { l.Knobs[0].Knob = "feature.tso" },
		"path":           func(l *line) { l.Knobs[0].Knob = "sysctl.net/../kernel" },
		"no value":       func(l *line) { l.Knobs[0].First = reading{} },
		"two lines":      func(l *line) { l.Knobs[0].First.Value = "1500\n9000" },
		"escape":         func(l *line) { l.Knobs[0].First.Wanted = "\x1b[2J" },
		"long value":     func(l *line) { l.Knobs[0].Got.Value = strings.Repeat("9", 300) },
		"host's knob":    func(l *line) { l.Knobs[0].Knob = backlog },
		"boot":           func(l *line) { l.Where.Boot = "yesterday" },
		"device name":    func(l *line) { l.Where.Dev = "../eth0" },
		"address":        func(l *line) { l.Where.Addr = "here" },
		"index":          func(l *line) { l.Where.Index = -2 },
		"kind":           func(l *line) { l.Kind = KindKept },
		"many knobs":     func(l *line) { l.Knobs = slices.Repeat(l.Knobs, maxItems+1) },
		"turn of no one": func(l *line) { l.Op, l.Turn = opTurn, 0 },
	} {
		bad := good
		bad.Knobs = slices.Clone(good.Knobs)
		forge(&bad)
		text, err := bad.encode()
		if err != nil {
			continue
		}
		if l, err := decodeLine(bytes.TrimSpace(text)); err == nil {
			t.Errorf("%s: taken: %+v", name, l)
		}
	}
}

func FuzzBook(f *testing.F) {
	w := world{here: Where{Boot: "00000000-0000-4000-8000-000000000001", NS: "cookie-7"}}
	for _, o := range []op{opTurn, opHeld, opKept, opFree} {
		l := line{Op: o, Session: "0123456789abcdef", PID: 1, At: now(), Turn: 1, Where: w.here.scope(lowat),
			Knobs: []item{{lowat, reading{Value: "1"}, reading{Value: "2", Wanted: "3"}}}}
		text, err := l.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b := parseBook(text)
		var again []byte
		for _, l := range b.lines() {
			out, err := l.encode()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := decodeLine(bytes.TrimSuffix(out, []byte("\n"))); err != nil {
				t.Fatalf("%s: %v", out, err)
			}
			again = append(again, out...)
		}
		if c := parseBook(again); len(c.flaws) > 0 || len(c.entries) != len(b.entries) {
			t.Fatalf("%d entries of %d, %v", len(c.entries), len(b.entries), c.flaws)
		}
	})
}
