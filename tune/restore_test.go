package tune

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/ethtune/ethtune/tune/knob"
)

// crashed leaves a session that died after turning something of each place.
func crashed(t *testing.T, w *world) {
	t.Helper()
	s, tuner := w.begin(KindSession)
	apply(t, tuner, turn(backlog, "5"), turn(lowat, "6"), turn("feature.tx", "off"), turn("dev.mtu", "1400"))
	kill(s)
}

func TestRestoreAfterACrash(t *testing.T) {
	w := newWorld(t)
	found := w.states()
	crashed(t, w)
	stale, err := w.journal().Stale()
	if err != nil || len(stale) != 8 { // tx is one bit here, and takes four more with it
		t.Errorf("%d stale, %v", len(stale), err)
	}
	for _, p := range stale {
		if !p.Here() || p.Alive || p.Doubt || p.Kind != KindSession || p.PID <= 0 || p.Since.IsZero() {
			t.Errorf("%+v", p)
		}
	}
	before := w.states()
	dry := w.mustRestore(RestoreOptions{DryRun: true})
	w.same(before)
	results := w.mustRestore(RestoreOptions{})
	w.same(found)
	if len(dry) != len(stale) || len(results) != len(stale) {
		t.Errorf("%d in the dry run, %d put back, %d stale", len(dry), len(results), len(stale))
	}
	for _, r := range slices.Concat(dry, results) {
		if (r.Dev == "") != (knob.Family(r.Knob) == "sysctl") || r.Dev != "" && r.Dev != w.here.Dev {
			t.Errorf("%s is of interface %q, not of %q", r.Knob, r.Dev, w.here.Dev)
		}
	}
	if again := w.mustRestore(RestoreOptions{}); len(again) != 0 {
		t.Errorf("a second time: %+v", again)
	}
}

func TestRestoreLeavesWhatSomebodyElseChanged(t *testing.T) {
	w := newWorld(t)
	found := w.states()
	crashed(t, w)
	w.sys.values[backlog] = "7"
	results, err := w.restore(RestoreOptions{})
	if !errors.Is(err, ErrNotRestored) || !strings.Contains(err.Error(), "now 7, left at 5 by ethtune") {
		t.Errorf("error %v", err)
	}
	if w.sys.values[backlog] != "7" || w.sys.values[lowat] != "4294967295" {
		t.Errorf("%v after %+v", w.sys.values, results)
	}
	if list := w.entries(); len(list) != 1 || list[0].Knob != backlog {
		t.Errorf("left: %+v", list)
	}
	w.mustRestore(RestoreOptions{Force: true})
	w.same(found)

	crashed(t, w)
	w.sys.values[backlog] = "1000" // put back by hand
	w.mustRestore(RestoreOptions{})
	w.same(found)
}

func TestRestoreElsewhere(t *testing.T) {
	for name, move := range map[string]func(*world){
		"another boot":      func(w *world) { w.here.Boot = "00000000-0000-4000-8000-000000000002" },
		"another namespace": func(w *world) { w.here.NS = "cookie-8" },
		"another device":    func(w *world) { w.here.Index = 3 },
		"another driver":    func(w *world) { w.here.Driver = "other" },
		"another card":      func(w *world) { w.here.Addr = "02:00:00:00:00:01" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			crashed(t, w)
			writes := w.host.Writes()
			move(w)
			for _, p := range w.entries() {
				if p.Knob == "dev.mtu" && p.Here() || p.Knob == backlog && p.Here() == (name == "another boot") {
					t.Errorf("%+v", p)
				}
			}
			w.mustRestore(RestoreOptions{KeptToo: true, Force: true})
			if w.host.Writes() != writes {
				t.Error("the device was written to")
			}
			hostBack, nsBack := w.sys.values[backlog] == "1000", w.sys.values[lowat] != "6"
			if hostBack != (name != "another boot") || nsBack != (name != "another boot" && name != "another namespace") {
				t.Errorf("%v", w.sys.values)
			}
			if left := len(w.entries()); (left == 0) != (name == "another boot") {
				t.Errorf("%d left in the journal", left)
			}
		})
	}
}

func TestRestoreOfARenamedDevice(t *testing.T) {
	w := newWorld(t)
	crashed(t, w)
	w.here.Dev = "lan0"
	var opened []string
	_, err := w.journal().Restore(t.Context(), RestoreOptions{}, func(dev string) ([]Family, func() error, error) {
		opened = append(opened, dev)
		return nil, nil, errors.New("no knobs of an interface: not permitted")
	})
	if !slices.Equal(opened, []string{"", "lan0"}) || !errors.Is(err, ErrNotRestored) || !strings.Contains(err.Error(), "not permitted") {
		t.Errorf("opened %q, %v", opened, err)
	}
	if len(w.entries()) != 8 {
		t.Errorf("what could not be put back is forgotten: %+v", w.entries())
	}
}

func TestRestoreTriesAgain(t *testing.T) {
	w := newWorld(t)
	found := w.states()
	crashed(t, w)
	w.host.Refuse = map[string]error{"mtu": errors.New("device or resource busy")}
	if _, err := w.restore(RestoreOptions{}); !errors.Is(err, ErrNotRestored) || !strings.Contains(err.Error(), w.here.Dev+" mtu=1500 (device or resource busy)") {
		t.Errorf("error %v", err)
	}
	w.host.Refuse = nil
	if results := w.mustRestore(RestoreOptions{}); len(results) != 1 || results[0].Outcome != knob.Applied {
		t.Errorf("%+v", results)
	}
	w.same(found)
}

// TestRestoreOfOddOriginals: kernels hold values that nobody may ask them for.
func TestRestoreOfOddOriginals(t *testing.T) {
	w := newWorld(t)
	w.host.Refuse = nil
	sack := "sysctl.net.ipv4.tcp_sack"
	w.sys.values[sack] = "2"
	s, tuner := w.begin(KindSession)
	apply(t, tuner, turn(sack, "0"))
	kill(s)
	if _, err := w.restore(RestoreOptions{}); !errors.Is(err, ErrNotRestored) || !strings.Contains(err.Error(), "was 2, which is no value to write") {
		t.Errorf("error %v", err)
	}
	if w.sys.values[sack] != "0" {
		t.Errorf("sack %s", w.sys.values[sack])
	}
	w.sys.values[sack] = "a\nb"
	_, tuner = w.begin(KindSession)
	if r := apply(t, tuner, turn(lowat, "9"))[0]; r.Outcome != knob.Applied {
		t.Errorf("a neighbour of what cannot be shown: %+v", r)
	}
}
