package native

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// Where a server has a key, both ends prove that they have it, and the key is never on the wire: each takes the HMAC-SHA256
// of its own name and of both nonces. Load and statistics are not encrypted.

const nonceSize = 16

// The names are in the proof so that neither end's can be sent back as the other's.
const (
	nearName = "ethtune native near 1"
	farName  = "ethtune native far 1"
)

// errKey is what a client is told that cannot prove it. It says nothing about the key.
var errKey = errors.New("the key is not the server's")

func newNonce() string {
	b := make([]byte, nonceSize)
	_, _ = rand.Read(b) // documented never to fail
	return hex.EncodeToString(b)
}

// proof is what the end of that name sends.
func proof(key []byte, name, near, far string) string {
	m := hmac.New(sha256.New, key)
	fmt.Fprintf(m, "%s|%s|%s", name, near, far)
	return hex.EncodeToString(m.Sum(nil))
}

func validNonce(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == nonceSize
}

// prove has a client that said hello prove that it has key, and returns the server's own proof. Without a key it asks
// for nothing.
func prove(ctl *control, hello *line, key []byte) (string, error) {
	if len(key) == 0 {
		return "", nil
	}
	if !validNonce(hello.Nonce) {
		return "", errKey
	}
	nonce := newNonce()
	if err := ctl.send(&line{Type: typeAsk, Nonce: nonce}); err != nil {
		return "", err
	}
	l, err := ctl.receive()
	if err != nil {
		return "", err
	}
	want := proof(key, nearName, hello.Nonce, nonce)
	if l.Type != typeProve || !hmac.Equal([]byte(l.Proof), []byte(want)) {
		return "", errKey
	}
	return proof(key, farName, hello.Nonce, nonce), nil
}

// answer is the near end's part: it proves itself to a server that asks, and returns the server's hello and what proof that
// must have.
func (c *Client) answer(asked *line, near string, key []byte) (hello *line, want string, err error) {
	if len(key) == 0 {
		return nil, "", errors.New("the server asks for a key: --key-file FILE")
	}
	if !validNonce(asked.Nonce) {
		return nil, "", errors.New("a challenge without a nonce")
	}
	if err := c.ctl.send(&line{Type: typeProve, Proof: proof(key, nearName, near, asked.Nonce)}); err != nil {
		return nil, "", err
	}
	hello, err = c.ctl.receive()
	return hello, proof(key, farName, near, asked.Nonce), err
}
