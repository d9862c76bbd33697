package metric

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLine bounds one line of the stream in bytes. A Frame of 128 streams with its histogram is below 32 KiB, and
// a full HostSlow in it below 160 KiB.
const MaxLine = 256 << 10

// ErrLine is what a line that is too long, is no JSON object, or has no type is.
var ErrLine = errors.New("not a record")

// Record is anything that has a line of its own.
type Record interface{ RecordType() string }

// AppendRecord appends r as one JSON line with its type first, and the line end.
func AppendRecord(dst []byte, r Record) ([]byte, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return dst, err
	}
	if len(body) < 2 || body[0] != '{' {
		return dst, fmt.Errorf("%w: %s is no object", ErrLine, r.RecordType())
	}
	dst = append(dst, `{"type":"`...)
	dst = append(dst, r.RecordType()...)
	dst = append(dst, '"')
	if len(body) > 2 {
		dst = append(dst, ',')
	}
	dst = append(dst, body[1:]...)
	return append(dst, '\n'), nil
}

// LineReader splits a stream into bounded lines with their types.
type LineReader struct{ s *bufio.Scanner }

// NewLineReader reads from r.
func NewLineReader(r io.Reader) *LineReader {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), MaxLine)
	return &LineReader{s: s}
}

// Next returns the type and the bytes of the next line; the bytes are good until the call after.
// A line that is no record gives an error that is [ErrLine], after which Next may be called again unless the line was
// too long. The end of the stream is [io.EOF].
func (l *LineReader) Next() (string, []byte, error) {
	for l.s.Scan() {
		line := bytes.TrimSpace(l.s.Bytes())
		if len(line) == 0 {
			continue
		}
		var head struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(line, &head); err != nil || head.Type == "" {
			return "", line, fmt.Errorf("%w: %.60q", ErrLine, line)
		}
		return head.Type, line, nil
	}
	if err := l.s.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return "", nil, fmt.Errorf("%w: a line is longer than %d bytes", ErrLine, MaxLine)
		}
		return "", nil, err
	}
	return "", nil, io.EOF
}

// Parse turns a line of one of this package's types into its record; other types give nil and no error.
func Parse(typ string, line []byte) (Record, error) {
	var r Record
	switch typ {
	case "interval":
		r = &Frame{}
	case "mark":
		r = &Mark{}
	case "note":
		r = &Note{}
	case "guest":
		r = &Guest{}
	default:
		return nil, nil
	}
	if err := json.Unmarshal(line, r); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrLine, typ, err)
	}
	return r, nil
}
