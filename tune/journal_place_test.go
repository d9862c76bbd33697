package tune

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/tune/knob"
)

func TestStateDir(t *testing.T) {
	user := map[string]string{"HOME": "/home/u", "XDG_RUNTIME_DIR": "/run/user/7", "XDG_STATE_HOME": "/home/u/st"}
	without := func(drop ...string) map[string]string {
		m := make(map[string]string)
		for k, v := range user {
			m[k] = v
		}
		for _, k := range drop {
			delete(m, k)
		}
		return m
	}
	for _, tt := range []struct {
		env  map[string]string
		euid int
		want string
	}{
		{user, 7, "/run/user/7/ethtune"},
		{user, 0, "/run/ethtune"}, // under sudo
		{nil, 0, "/run/ethtune"},
		{without("XDG_RUNTIME_DIR"), 7, "/home/u/st/ethtune"},
		{without("XDG_RUNTIME_DIR", "XDG_STATE_HOME"), 7, "/home/u/.local/state/ethtune"},
		{map[string]string{"XDG_RUNTIME_DIR": "here", "HOME": "/home/u"}, 7, "/home/u/.local/state/ethtune"},
		{map[string]string{"ETHTUNE_STATE_DIR": "/var/lib/e/", "HOME": "/home/u"}, 0, "/var/lib/e"},
		{map[string]string{"ETHTUNE_STATE_DIR": "e"}, 0, ""},
		{nil, 7, ""},
	} {
		got, err := StateDir(func(k string) string { return tt.env[k] }, tt.euid)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%v as %d: %q, %v", tt.env, tt.euid, got, err)
		}
	}
}

func TestOpenJournalMakesItsPlace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "ethtune")
	j, err := OpenJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	st, err := os.Lstat(dir)
	if err != nil || st.Mode() != os.ModeDir|0o700 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if _, err := j.Entries(); err == nil {
		t.Error("entries of a closed journal")
	}
}

// TestRefusedPlaces: each is one line that says what is wrong, and nothing outside is touched.
func TestRefusedPlaces(t *testing.T) {
	root := os.Geteuid() == 0
	for _, tt := range []struct {
		name  string
		make  func(t *testing.T, dir string)
		want  string
		asker bool // must be root to be made
	}{
		{name: "symlink", want: "a symbolic link or a file is in its place", make: func(t *testing.T, dir string) {
			must(t, os.Symlink(t.TempDir(), dir))
		}},
		{name: "dangling symlink", want: "a symbolic link or a file is in its place", make: func(t *testing.T, dir string) {
			must(t, os.Symlink(filepath.Join(t.TempDir(), "nothing"), dir))
		}},
		{name: "file", want: "a symbolic link or a file is in its place", make: func(t *testing.T, dir string) {
			must(t, os.WriteFile(dir, nil, 0o600))
		}},
		{name: "world-writable", want: "can be written by others (mode 0777)", make: func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777))
		}},
		{name: "group-writable", want: "can be written by others (mode 0770)", make: func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir, 0o700), os.Chmod(dir, 0o770))
		}},
		{name: "world-writable parent", want: "can be written by others (mode 0777)", make: func(t *testing.T, dir string) {
			must(t, os.Chmod(filepath.Dir(dir), 0o777))
		}},
		{name: "another user's", want: "belongs to user 7", asker: true, make: func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir, 0o700), os.Chown(dir, 7, 7))
		}},
		{name: "another user's parent", want: "belongs to user 7", asker: true, make: func(t *testing.T, dir string) {
			must(t, os.Chown(filepath.Dir(dir), 7, 7))
		}},
		{name: "journal is a symlink", want: "journal is a symbolic link", make: func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir, 0o700), os.Symlink("/etc/hostname", filepath.Join(dir, journalName)))
		}},
		{name: "journal has two names", want: "has another name too", make: func(t *testing.T, dir string) {
			other := filepath.Join(filepath.Dir(dir), "other")
			must(t, os.Mkdir(dir, 0o700), os.WriteFile(other, nil, 0o600), os.Link(other, filepath.Join(dir, journalName)))
		}},
		{name: "journal is a pipe", want: "is not a regular file", make: func(t *testing.T, dir string) {
			must(t, os.Mkdir(dir, 0o700), unix.Mkfifo(filepath.Join(dir, journalName), 0o600))
		}},
		{name: "journal is another user's", want: "belongs to user 7", asker: true, make: func(t *testing.T, dir string) {
			file := filepath.Join(dir, journalName)
			must(t, os.Mkdir(dir, 0o700), os.WriteFile(file, nil, 0o600), os.Chown(file, 7, 7))
		}},
		{name: "journal is world-writable", want: "can be written by others (mode 0666)", make: func(t *testing.T, dir string) {
			file := filepath.Join(dir, journalName)
			must(t, os.Mkdir(dir, 0o700), os.WriteFile(file, nil, 0o600), os.Chmod(file, 0o666))
		}},
		{name: "journal is huge", want: "move it away", make: func(t *testing.T, dir string) {
			file := filepath.Join(dir, journalName)
			must(t, os.Mkdir(dir, 0o700), os.WriteFile(file, nil, 0o600), os.Truncate(file, maxJournal+1))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			need(t, root || !tt.asker, "needs root to give a file to another user")
			dir := filepath.Join(t.TempDir(), "ethtune")
			tt.make(t, dir)
			j, err := OpenJournal(dir)
			if err == nil {
				defer j.Close()
				_, err = j.Begin(KindSession)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "journal") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// mounted puts a file system of its own at a folder, which goes with the test: its thread has a mount namespace that
// nothing spreads from.
func mounted(t *testing.T, options string) string {
	t.Helper()
	runtime.LockOSThread() // and never unlocked: the thread ends with the test
	err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS)
	need(t, err == nil, "needs the right to make a mount namespace")
	must(t, unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	dir := t.TempDir()
	must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, options))
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// TestFullDisk: where there is no room to write it down, the kernel is not touched; where there is again, all goes on.
func TestFullDisk(t *testing.T) {
	w := newWorld(t)
	mount := mounted(t, "size=64k,mode=0700")
	w.dir = filepath.Join(mount, "ethtune")
	found := w.states()
	s, tuner := w.begin(KindSession)
	apply(t, tuner, turn(backlog, "5"))
	ballast := filepath.Join(mount, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	refused, full := 0, false
	for i := 0; i < 100 && !full; i++ { // until the last page of the journal is full as well
		before := w.states()
		r := apply(t, tuner, turn("feature.tx", []string{"off", "on"}[i%2]))[0]
		if full = r.Outcome == knob.Refused; full {
			refused++
			w.same(before)
			if !strings.Contains(r.Reason, "no space left on device; nothing was turned") || strings.Contains(r.Reason, "\n") {
				t.Errorf("reason %q", r.Reason)
			}
		}
	}
	if refused == 0 {
		t.Fatal("nothing was refused on a full disk")
	}
	if _, err := w.journal().Begin(KindSession); err != nil && strings.Contains(err.Error(), "\n") {
		t.Errorf("another session: %v", err)
	}
	must(t, os.Remove(ballast))
	if r := apply(t, tuner, turn("feature.tx", "off"), turn("feature.tx", "on"))[0]; r.Outcome == knob.Refused {
		t.Errorf("with room again: %+v", r)
	}
	kill(s)
	w.mustRestore(RestoreOptions{})
	w.same(found)
}

// TestFullDiskAtTheEnd: what is put back while nothing can be written down is back, and nobody writes it a second time.
func TestFullDiskAtTheEnd(t *testing.T) {
	w := newWorld(t)
	mount := mounted(t, "size=64k,mode=0700")
	w.dir = filepath.Join(mount, "ethtune")
	found := w.states()
	s, tuner := w.begin(KindSession)
	apply(t, tuner, turn(backlog, "5"), turn("feature.tx", "off"))
	if err := os.WriteFile(filepath.Join(mount, "ballast"), make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if _, err := tuner.Undo(t.Context()); errors.Is(err, ErrNotRestored) {
		t.Errorf("undo: %v", err)
	}
	w.same(found)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if results, err := w.restore(RestoreOptions{}); len(results) != 0 || errors.Is(err, ErrNotRestored) {
		t.Errorf("restore: %+v, %v", results, err)
	}
	w.same(found)
}

// TestReadOnlyPlace: what is there can be read, and nothing is turned that could not be written down.
func TestReadOnlyPlace(t *testing.T) {
	w := newWorld(t)
	mount := mounted(t, "mode=0700")
	w.dir = filepath.Join(mount, "ethtune")
	s, tuner := w.begin(KindSession)
	apply(t, tuner, turn(backlog, "5"))
	must(t, unix.Mount("", mount, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	if list := w.entries(); len(list) != 1 || list[0].Wrote != "5" || !list[0].Alive {
		t.Errorf("%+v", list)
	}
	r := apply(t, tuner, turn(backlog, "6"))[0]
	if r.Outcome != knob.Refused || w.sys.values[backlog] != "5" || !strings.Contains(r.Reason, "nothing was turned") {
		t.Errorf("%+v", r)
	}
	if _, err := w.journal().Begin(KindSession); err == nil || !strings.Contains(err.Error(), "read-only file system") {
		t.Errorf("begin: %v", err)
	}
	if _, err := OpenJournal(filepath.Join(mount, "other")); err == nil || !strings.Contains(err.Error(), "read-only file system") {
		t.Errorf("another place: %v", err)
	}
	if _, err := tuner.Undo(t.Context()); errors.Is(err, ErrNotRestored) || w.sys.values[backlog] != "1000" {
		t.Errorf("undo: %v, backlog %s", err, w.sys.values[backlog])
	}
	kill(s)
}

// TestOrdinaryUserSeesNothingOfRoots: the directory is closed to others.
func TestOrdinaryUserSeesNothingOfRoots(t *testing.T) {
	need(t, os.Geteuid() == 0, "needs root to become somebody else")
	w := newWorld(t)
	w.begin(KindSession)
	cmd := exec.Command("ls", w.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("user 65534 reads %s", out)
	}
}
