package tune

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// StateDir is where the journal lives: $ETHTUNE_STATE_DIR where it is set; else /run/ethtune for root; else
// $XDG_RUNTIME_DIR/ethtune, or $XDG_STATE_HOME/ethtune, or ~/.local/state/ethtune. Root's is the same under sudo, whose
// HOME and XDG variables are those of the caller. env is os.Getenv, euid os.Geteuid().
func StateDir(env func(string) string, euid int) (string, error) {
	if dir := env("ETHTUNE_STATE_DIR"); dir != "" {
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("ETHTUNE_STATE_DIR is %q: it must be an absolute path", dir)
		}
		return filepath.Clean(dir), nil
	}
	if euid == 0 {
		return "/run/ethtune", nil
	}
	for _, try := range []struct{ name, below string }{
		{"XDG_RUNTIME_DIR", "ethtune"}, {"XDG_STATE_HOME", "ethtune"}, {"HOME", ".local/state/ethtune"},
	} {
		// The XDG base directory specification has relative paths ignored.
		if dir := env(try.name); filepath.IsAbs(dir) {
			return filepath.Join(dir, try.below), nil
		}
	}
	return "", errors.New("no place for the journal: none of XDG_RUNTIME_DIR, XDG_STATE_HOME and HOME is set; set ETHTUNE_STATE_DIR")
}

// openPlace opens the directory, and makes it and what is missing above it. What stands above may be reached through
// symbolic links, which are the system's own (such as /var/run); the directory itself may not be one.
func openPlace(dir string) (*os.File, error) {
	if !filepath.IsAbs(dir) || filepath.Clean(dir) == "/" {
		return nil, fmt.Errorf("%q is no absolute path of a directory", dir)
	}
	above, base := filepath.Split(filepath.Clean(dir))
	if err := os.MkdirAll(above, 0o700); err != nil {
		return nil, err
	}
	parent, err := os.OpenFile(above, unix.O_DIRECTORY|unix.O_PATH, 0)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	if err := checkAbove(parent); err != nil {
		return nil, err
	}
	const flags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(int(parent.Fd()), base, flags, 0)
	if errors.Is(err, unix.ENOENT) {
		if err = unix.Mkdirat(int(parent.Fd()), base, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
			return nil, fmt.Errorf("make %s: %w", dir, err)
		}
		fd, err = unix.Openat(int(parent.Fd()), base, flags, 0)
	}
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return nil, fmt.Errorf("%s is not a directory of its own: a symbolic link or a file is in its place", dir)
	case err != nil:
		return nil, fmt.Errorf("open %s: %w", dir, err)
	}
	f := os.NewFile(uintptr(fd), dir)
	if err := checkOwn(f, unix.S_IFDIR); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkAbove refuses a parent in which others could put another directory in the place of ours. One with the sticky bit
// is good enough: nobody but its owner can rename what is in it.
func checkAbove(parent *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(parent.Fd()), &st); err != nil {
		return fmt.Errorf("%s: %w", parent.Name(), err)
	}
	if st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0 {
		return fmt.Errorf("%s can be written by others (mode %04o): choose another place with ETHTUNE_STATE_DIR", parent.Name(), st.Mode&0o7777)
	}
	if owner := int(st.Uid); owner != 0 && owner != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d: choose another place with ETHTUNE_STATE_DIR", parent.Name(), owner)
	}
	return nil
}

// checkOwn refuses what is not of the type, not ours, or not ours alone to write.
func checkOwn(f *os.File, typ uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	switch {
	case st.Mode&unix.S_IFMT != typ:
		return fmt.Errorf("%s is not a regular file", f.Name())
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("%s belongs to user %d, not to user %d: chown it back, or move it away and begin anew", f.Name(), st.Uid, os.Geteuid())
	case st.Mode&0o022 != 0:
		return fmt.Errorf("%s can be written by others (mode %04o): chmod go-w it, or set ETHTUNE_STATE_DIR", f.Name(), st.Mode&0o7777)
	case typ == unix.S_IFREG && st.Nlink > 1:
		return fmt.Errorf("%s has another name too (%d links)", f.Name(), st.Nlink)
	}
	return nil
}
