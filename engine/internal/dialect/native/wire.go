package native

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// control is a control connection of either end: bounded lines, and a bound on silence and on a peer that does not read.
type control struct {
	conn    net.Conn
	scan    *bufio.Scanner
	patient time.Duration // silence after which a read fails

	mu sync.Mutex // one line at a time
}

func newControl(conn net.Conn, in io.Reader, patient time.Duration) *control {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 0, 4096), maxLine)
	return &control{conn: conn, scan: s, patient: patient}
}

func (c *control) send(l *line) error {
	b, err := l.encode()
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err = c.conn.Write(b)
	return err
}

func (c *control) receive() (*line, error) {
	if err := c.conn.SetReadDeadline(time.Now().Add(c.patient)); err != nil {
		return nil, err
	}
	if !c.scan.Scan() {
		err := c.scan.Err()
		switch {
		case err == nil:
			return nil, io.EOF
		case err == bufio.ErrTooLong:
			return nil, fmt.Errorf("a control line is longer than %d bytes", maxLine)
		}
		if ne, ok := err.(net.Error); ok && ne.Timeout() {
			return nil, fmt.Errorf("no word for %s", c.patient)
		}
		return nil, err
	}
	return decode(c.scan.Bytes())
}
