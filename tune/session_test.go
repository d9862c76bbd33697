package tune

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/tune/internal/kernel"
	"github.com/ethtune/ethtune/tune/internal/kernel/kerneltest"
	"github.com/ethtune/ethtune/tune/knob"
)

const (
	backlog = "sysctl.net.core.netdev_max_backlog"     // of the host
	lowat   = "sysctl.net.ipv4.tcp_notsent_lowat"      // of a namespace
	output  = "sysctl.net.ipv4.tcp_limit_output_bytes" // the same
)

// sysctls is a family of numbers that know nothing of each other.
type sysctls struct {
	values map[string]string
	deaf   error // of every Read from now on
}

func newSysctls() *sysctls {
	return &sysctls{values: map[string]string{backlog: "1000", lowat: "4294967295", output: "1048576"}}
}

func (f *sysctls) Name() string { return "sysctl" }

func (f *sysctls) Read(context.Context) ([]knob.State, error) {
	var list []knob.State
	for name, v := range f.values {
		list = append(list, knob.State{Knob: name, Value: v})
	}
	return list, f.deaf
}

func (f *sysctls) Write(_ context.Context, settings []knob.Setting) error {
	for _, s := range settings {
		f.values[s.Knob] = s.Value
	}
	return nil
}

// world is one host with its journal; every session in it has opened the journal for itself, as processes do.
type world struct {
	t    *testing.T
	dir  string
	host *kerneltest.Host
	sys  *sysctls
	here Where
}

func newWorld(t *testing.T) *world {
	return &world{
		t: t, dir: filepath.Join(t.TempDir(), "state"), host: kerneltest.New(), sys: newSysctls(),
		here: Where{Boot: "00000000-0000-4000-8000-000000000001", NS: "cookie-7", Index: 2, Driver: "fake", Dev: kerneltest.Dev},
	}
}

func (w *world) journal() *Journal {
	w.t.Helper()
	j, err := OpenJournal(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { j.Close() })
	j.look = func(index int) (Where, error) {
		if index == w.here.Index {
			return w.here, nil
		}
		return Where{Boot: w.here.Boot, NS: w.here.NS}, nil
	}
	return j
}

func (w *world) families() []Family {
	return []Family{w.sys, kernel.NewDevice(w.host, kerneltest.Dev)}
}

func (w *world) begin(kind Kind) (*Session, *Tuner) {
	w.t.Helper()
	s, err := w.journal().Begin(kind)
	if err != nil {
		w.t.Fatal(err)
	}
	return s, NewJournaled(s, w.here, w.families()...)
}

// kill ends the session as the kernel does when a process dies: its lock is gone, and nothing else is.
func kill(s *Session) {
	unix.Close(s.lock)
	s.lock = -1
}

func (w *world) open(dev string) ([]Family, func() error, error) {
	done := func() error { return nil }
	if dev == "" {
		return []Family{w.sys}, done, nil
	}
	return []Family{kernel.NewDevice(w.host, dev)}, done, nil
}

func (w *world) restore(opts RestoreOptions) ([]knob.Result, error) {
	return w.journal().Restore(w.t.Context(), opts, w.open)
}

func (w *world) mustRestore(opts RestoreOptions) []knob.Result {
	w.t.Helper()
	results, err := w.restore(opts)
	if err != nil {
		w.t.Errorf("restore: %v, %+v", err, results)
	}
	return results
}

func (w *world) entries() []Pending {
	w.t.Helper()
	list, err := w.journal().Entries()
	if err != nil {
		w.t.Errorf("entries: %v", err)
	}
	return list
}

func (w *world) states() map[string]knob.State { return states(w.t, New(w.families()...)) }

func (w *world) same(found map[string]knob.State) {
	w.t.Helper()
	sameStates(w.t, found, w.states())
}

func turn(name, value string) knob.Setting { return knob.Setting{Knob: name, Value: value} }

func undo(t *testing.T, tuner *Tuner) []knob.Result {
	t.Helper()
	results, err := tuner.Undo(t.Context())
	if err != nil {
		t.Errorf("undo: %v", err)
	}
	return results
}

// TestTwoSessionsOneKnob: whichever ends first, and whether it ends or dies, the value before both is back.
func TestTwoSessionsOneKnob(t *testing.T) {
	for _, order := range []string{"end A, end B", "end B, end A", "kill A, end B", "end B, kill A", "kill B, end A",
		"end A, kill B", "kill A, kill B", "kill B, kill A"} {
		t.Run(order, func(t *testing.T) {
			w := newWorld(t)
			found := w.states()
			sa, a := w.begin(KindSession)
			sb, b := w.begin(KindSession)
			apply(t, a, turn(backlog, "5"), turn("feature.tx", "off"))
			apply(t, b, turn(backlog, "10"), turn("feature.tx", "on"))
			apply(t, a, turn("dev.mtu", "1400"))
			for i, what := range strings.Split(order, ", ") {
				s, tuner := sa, a
				if strings.HasSuffix(what, "B") {
					s, tuner = sb, b
				}
				if strings.HasPrefix(what, "kill") {
					kill(s)
					continue
				}
				for _, r := range undo(t, tuner) {
					leaves := r.Outcome == knob.Unchanged && strings.Contains(r.Reason, " has turned it too and puts it back when it ends") && r.Got == w.sys.values[backlog] && r.From == r.Got
					if i == 0 && r.Knob == backlog && !leaves {
						t.Errorf("the first to end: %+v", r)
					}
				}
				if i == 0 && w.sys.values[backlog] != "10" {
					t.Errorf("backlog %s while another session has it", w.sys.values[backlog])
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			w.mustRestore(RestoreOptions{})
			w.same(found)
			if list := w.entries(); len(list) != 0 {
				t.Errorf("left in the journal: %+v", list)
			}
		})
	}
}

func TestNewSessionTakesOverTheOriginal(t *testing.T) {
	w := newWorld(t)
	found := w.states()
	sa, a := w.begin(KindSession)
	apply(t, a, turn(backlog, "5"), turn("feature.rx-gro", "off"))
	kill(sa)
	sb, b := w.begin(KindSession)
	apply(t, b, turn(backlog, "10"))
	results := w.mustRestore(RestoreOptions{}) // touches dead sessions only
	if w.sys.values[backlog] != "10" || !slices.ContainsFunc(results, func(r knob.Result) bool {
		return r.Knob == backlog && r.Outcome == knob.Unchanged
	}) {
		t.Errorf("backlog %s, %+v", w.sys.values[backlog], results)
	}
	undo(t, b)
	if err := sb.Close(); err != nil {
		t.Error(err)
	}
	w.same(found)
	if list := w.entries(); len(list) != 0 {
		t.Errorf("left in the journal: %+v", list)
	}
}

// TestWhatSomebodyElseChangedAfterACrash is theirs: a new session goes back to that.
func TestWhatSomebodyElseChangedAfterACrash(t *testing.T) {
	w := newWorld(t)
	sa, a := w.begin(KindSession)
	apply(t, a, turn(backlog, "5"), turn(lowat, "6"))
	kill(sa)
	w.sys.values[backlog] = "300"
	_, b := w.begin(KindSession)
	apply(t, b, turn(backlog, "10"), turn(lowat, "11"))
	undo(t, b)
	if w.sys.values[backlog] != "300" || w.sys.values[lowat] != "4294967295" {
		t.Errorf("%v", w.sys.values)
	}
}

func TestKeptIsKept(t *testing.T) {
	w := newWorld(t)
	found := w.states()
	s, set := w.begin(KindKept)
	apply(t, set, turn(backlog, "2000"), turn("feature.tso", "off"))
	if results := undo(t, set); len(results) != 0 || w.sys.values[backlog] != "2000" {
		t.Errorf("undo of what is to stay: %+v", results)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	kept := w.states()

	sa, a := w.begin(KindSession) // turns what was kept, and goes back to that
	apply(t, a, turn(backlog, "5"), turn("feature.tso", "on"))
	undo(t, a)
	w.same(kept)
	apply(t, a, turn(backlog, "6"))
	kill(sa)
	w.mustRestore(RestoreOptions{})
	w.same(kept)

	s, set = w.begin(KindKept)
	apply(t, set, turn(backlog, "3000"))
	s.Close()
	w.mustRestore(RestoreOptions{})
	if w.sys.values[backlog] != "3000" {
		t.Errorf("a kept value was put back: %s", w.sys.values[backlog])
	}
	w.mustRestore(RestoreOptions{KeptToo: true})
	w.same(found)
	if list := w.entries(); len(list) != 0 {
		t.Errorf("left in the journal: %+v", list)
	}
}

func TestKeepOnQuit(t *testing.T) {
	w := newWorld(t)
	found := w.states()
	sa, a := w.begin(KindSession)
	sb, b := w.begin(KindSession)
	apply(t, a, turn(backlog, "5"), turn(lowat, "77"), turn("feature.tso", "off"))
	apply(t, b, turn(backlog, "9"))
	if err := a.Keep("dev.mtu"); err == nil || !strings.Contains(err.Error(), "mtu was not turned here") {
		t.Errorf("keep of what was not turned: %v", err)
	}
	if err := a.Keep(lowat, "feature.tso", backlog); err != nil {
		t.Fatal(err)
	}
	if results := undo(t, a); len(results) != 0 {
		t.Errorf("undone: %+v", results)
	}
	sa.Close()
	apply(t, b, turn(backlog, "10"))
	undo(t, b)
	sb.Close()
	if w.sys.values[lowat] != "77" || w.sys.values[backlog] != "9" {
		t.Errorf("lowat %s, backlog %s; kept were 77 and 9", w.sys.values[lowat], w.sys.values[backlog])
	}
	for _, p := range w.entries() {
		if p.Kind != KindKept || p.Alive || !p.Here() || p.Knob == lowat && (p.First != "4294967295" || p.Wrote != "77") {
			t.Errorf("%+v", p)
		}
	}
	w.mustRestore(RestoreOptions{KeptToo: true, Knobs: []string{lowat}})
	if w.sys.values[lowat] != "4294967295" || w.sys.values[backlog] != "9" {
		t.Errorf("one knob asked for: %v", w.sys.values)
	}
	w.mustRestore(RestoreOptions{KeptToo: true, Knobs: []string{"feature.tso"}})
	w.mustRestore(RestoreOptions{KeptToo: true})
	w.same(found)
}

// TestReadFailsAfterTheWrite: nobody knows what the turn did, so all it may have done is put back once it can be read.
func TestReadFailsAfterTheWrite(t *testing.T) {
	w := newWorld(t)
	found := w.states()
	s, tuner := w.begin(KindSession)
	tuner.families[0] = deafAfterWrite{w.sys}
	if r := apply(t, tuner, turn(backlog, "5"))[0]; r.Outcome != knob.Partial {
		t.Errorf("%+v", r)
	}
	w.sys.deaf, tuner.families[0] = nil, w.sys
	undo(t, tuner)
	w.same(found)
	if err := s.Close(); err != nil || len(w.entries()) != 0 {
		t.Errorf("%v, %+v", err, w.entries())
	}
}

type deafAfterWrite struct{ *sysctls }

func (d deafAfterWrite) Write(ctx context.Context, s []knob.Setting) error {
	err := d.sysctls.Write(ctx, s)
	d.deaf = errors.New("stale file handle")
	return err
}

func TestRefusingTuner(t *testing.T) {
	w := newWorld(t)
	tuner := NewRefusing(errors.New("no place for the journal"), w.families()...)
	for _, r := range apply(t, tuner, turn(backlog, "5"), turn("feature.rx-gro", "off")) {
		if r.Outcome != knob.Refused || r.Reason != "no place for the journal; nothing was turned" {
			t.Errorf("%+v", r)
		}
	}
	if r := apply(t, tuner, turn(backlog, "1000"))[0]; r.Outcome != knob.Unchanged {
		t.Errorf("nothing to turn: %+v", r)
	}
	if w.host.Writes() != 0 || len(undo(t, tuner)) != 0 {
		t.Error("something was turned")
	}
}

// TestJournalGoneUnderTheSession: what was turned is put back from memory.
func TestJournalGoneUnderTheSession(t *testing.T) {
	w := newWorld(t)
	found := w.states()
	_, tuner := w.begin(KindSession)
	apply(t, tuner, turn(backlog, "5"), turn("feature.tx", "off"))
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	if r := apply(t, tuner, turn(backlog, "6"))[0]; r.Outcome != knob.Refused || !strings.Contains(r.Reason, "nothing was turned") {
		t.Errorf("%+v", r)
	}
	undo(t, tuner)
	w.same(found)
}

// TestJournalStaysSmall: a long session does not fill the disk, and its first values are still known.
func TestJournalStaysSmall(t *testing.T) {
	w := newWorld(t)
	found := w.states()
	s, tuner := w.begin(KindSession)
	for i := range 400 {
		apply(t, tuner, turn("feature.tx", []string{"off", "on"}[i%2]), turn(backlog, []string{"5", "6"}[i%2]))
	}
	if n := len(written(t, w)); n > compactAt+2*maxLine {
		t.Errorf("%d bytes", n)
	}
	kill(s)
	w.mustRestore(RestoreOptions{})
	w.same(found)
	if n := len(written(t, w)); n != 0 {
		t.Errorf("%d bytes of nothing", n)
	}
}

// TestSessionsOfOneProcess: two tuners of one session and one of another wait for each other.
func TestSessionsOfOneProcess(t *testing.T) {
	w := newWorld(t)
	found := w.states()
	s, a := w.begin(KindSession)
	var wg sync.WaitGroup
	other, c := w.begin(KindSession)
	c.families, a.families = c.families[:1], a.families[1:]
	for _, tuner := range []*Tuner{a, c} {
		name, values := "dev.mtu", []string{"1400", "1300"}
		if tuner == c {
			name, values = backlog, []string{"5", "6"}
		}
		wg.Go(func() {
			for i := range 20 {
				if _, err := tuner.Apply(t.Context(), knob.Plan{turn(name, values[i%2])}); err != nil {
					t.Error(err)
				}
			}
			if _, err := tuner.Undo(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(s.Close(), other.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	w.same(found)
	if list, err := os.ReadDir(w.dir); err != nil || len(list) != 1 {
		t.Errorf("files left: %v, %v", list, err)
	}
}
