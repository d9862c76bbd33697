package iperf3

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Bounds of a JSON frame in bytes.
const (
	maxParams        = 8 << 10   // of a server since 3.18
	maxClientResults = 256 << 10 // 256 streams of at most 400 bytes, and some
	maxServerResults = 4 << 20   // the server's whole output may be within it
)

// saying bounds how long a peer may take to take a word, so that one that does not read holds up nobody.
const saying = 5 * time.Second

// control is a control connection of either end.
type control struct {
	conn *net.TCPConn
	mu   sync.Mutex // one word at a time
}

func (c *control) write(b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.conn.SetWriteDeadline(time.Now().Add(saying)); err != nil {
		return err
	}
	_, err := c.conn.Write(b)
	return err
}

// say sends states.
func (c *control) say(states ...state) error {
	b := make([]byte, len(states))
	for i, s := range states {
		b[i] = byte(s)
	}
	return c.write(b)
}

// sayError sends SERVER_ERROR with the i_errno.
func (c *control) sayError(code int) error {
	b := []byte{byte(serverError)}
	b = binary.BigEndian.AppendUint32(b, uint32(code))
	return c.write(binary.BigEndian.AppendUint32(b, 0))
}

// sayFrame sends v as JSON.
func (c *control) sayFrame(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
}

// leave ends the connection so that what was said last is still read: closing it over unread bytes would reset it.
func (c *control) leave() {
	_ = c.conn.CloseWrite()
	_ = c.conn.SetReadDeadline(time.Now().Add(parting))
	_, _ = io.CopyN(io.Discard, c.conn, maxParams)
	_ = c.conn.Close()
}

// parting bounds how long the peer's end of the connection is waited for.
const parting = 500 * time.Millisecond

// readState reads one state. SERVER_ERROR becomes its error.
func readState(r io.Reader) (state, error) {
	var b [9]byte
	if _, err := io.ReadFull(r, b[:1]); err != nil {
		return 0, err
	}
	if state(b[0]) == serverError {
		return serverError, readPeerError(r, b[:1])
	}
	return state(b[0]), nil
}

// readPeerError reads what is missing behind head of a SERVER_ERROR and its two numbers. A server may close before it has
// sent them.
func readPeerError(r io.Reader, head []byte) error {
	b := make([]byte, 9)
	n := copy(b, head)
	if _, err := io.ReadFull(r, b[n:]); err != nil {
		return &peerError{}
	}
	return &peerError{int(int32(binary.BigEndian.Uint32(b[1:]))), int(int32(binary.BigEndian.Uint32(b[5:])))}
}

// readFrame reads a length and that many bytes of JSON, at most limit. Memory grows with what arrives, never by the
// peer's word. A server may send SERVER_ERROR instead: its first byte is no length within any limit.
func readFrame(r io.Reader, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	if state(head[0]) == serverError {
		return nil, readPeerError(r, head[:])
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	if n == 0 || n > int64(limit) {
		return nil, fmt.Errorf("a JSON frame of %d bytes: 1 to %d", n, limit)
	}
	var body bytes.Buffer
	got, err := io.CopyN(&body, r, n)
	if err == io.EOF && got > 0 {
		err = io.ErrUnexpectedEOF
	}
	return body.Bytes(), err
}
