package iperf3

import "crypto/rand"

// cookieSize is 36 characters and a NUL.
const cookieSize = 37

// cookie names a test. The client invents it, and begins every TCP connection of the test with it.
type cookie [cookieSize]byte

// newCookie is one that nobody else has, of iperf3's own alphabet.
func newCookie() cookie {
	const alphabet = "abcdefghijklmnopqrstuvwxyz234567"
	var c cookie
	_, _ = rand.Read(c[:cookieSize-1]) // documented never to fail
	for i := range c[:cookieSize-1] {
		c[i] = alphabet[c[i]%32]
	}
	return c
}
