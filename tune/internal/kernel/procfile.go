package kernel

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// maxValue bounds in bytes what is read of one file of /proc: the longest is the list of congestion controls, for which
// the kernel itself has 2048 (TCP_CA_BUF_MAX of include/net/tcp.h).
const maxValue = 4096

// procFile is one open file under /proc/sys. It is opened once, since the path would lead each thread to the settings of
// its own network namespace, and the open file stays with those of the thread that opened it.
type procFile struct {
	file   *os.File
	mode   os.FileMode
	denied error // why it could not be opened for writing; nil = it could
}

// openProc opens for reading and writing, or for reading alone where no more is given. It follows no link at the end of
// path: settings have none.
func openProc(path string) (*procFile, error) {
	const flags = unix.O_NOFOLLOW | unix.O_CLOEXEC
	p := &procFile{}
	var err error
	p.file, err = os.OpenFile(path, os.O_RDWR|flags, 0)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, unix.EROFS) {
		p.denied = err
		p.file, err = os.OpenFile(path, os.O_RDONLY|flags, 0)
	}
	if err != nil {
		return nil, err
	}
	info, err := p.file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file of settings", path)
	}
	if err != nil {
		return nil, errors.Join(err, p.file.Close())
	}
	p.mode = info.Mode()
	return p, nil
}

// read returns the first line, without space around it.
func (p *procFile) read() (string, error) {
	buf := make([]byte, maxValue)
	n, err := p.file.ReadAt(buf, 0)
	if err == nil {
		return "", fmt.Errorf("more than %d bytes", maxValue)
	}
	if !errors.Is(err, io.EOF) {
		return "", bare(err)
	}
	return firstLine(buf[:n])
}

// firstLine is the whole of what a setting is. The files are as binary as whoever mounted them made them, so what no
// kernel prints is refused.
func firstLine(data []byte) (string, error) {
	line, _, _ := strings.Cut(string(data), "\n")
	line = strings.TrimSpace(line)
	if strings.ContainsFunc(line, func(r rune) bool { return r > '~' || (r < ' ' && r != '\t') }) {
		return "", fmt.Errorf("%.40q is not a setting", line)
	}
	return line, nil
}

// write hands over the value in one write(2): the kernel takes what each call brings for a whole value.
func (p *procFile) write(value string) error {
	if p.denied != nil {
		return bare(p.denied)
	}
	raw, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	data := []byte(value + "\n")
	var n int
	var failed error
	if err := raw.Control(func(fd uintptr) { n, failed = unix.Pwrite(int(fd), data, 0) }); err != nil {
		return err
	}
	if failed == nil && n != len(data) {
		return io.ErrShortWrite
	}
	return failed
}

// Close lets go of the file.
func (p *procFile) Close() error { return p.file.Close() }

// bare is the error number without the path, which the knob's name stands for.
func bare(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
