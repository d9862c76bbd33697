package host

import (
	"io"
	"os"
)

// file is a kernel file that is read again and again.
type file struct {
	f   *os.File
	buf []byte
	max int // bytes that are read of it
}

// open never fails: a file that is not there reads as nothing.
func open(path string, most int) *file {
	f, err := os.Open(path)
	if err != nil {
		return &file{}
	}
	return &file{f: f, buf: make([]byte, 4096), max: most}
}

// read is the whole file as it is now, good until the next read; false where it cannot be read.
func (f *file) read() ([]byte, bool) {
	if f.f == nil {
		return nil, false
	}
	// A seq_file hands out one piece a call, so only a read of nothing is its end.
	n := 0
	for {
		if n == len(f.buf) {
			if n >= f.max {
				return f.buf, true
			}
			f.buf = append(f.buf, make([]byte, n)...)
		}
		k, err := f.f.ReadAt(f.buf[n:], int64(n))
		n += k
		if err == io.EOF || k == 0 && err == nil {
			return f.buf[:n], n > 0
		}
		if err != nil {
			return nil, false
		}
	}
}

func (f *file) close() {
	if f.f != nil {
		_ = f.f.Close()
	}
}
