package dialect

import (
	"strings"
	"unicode"
)

// maxPlain bounds what is shown of a peer's words, in characters.
const maxPlain = 400

// Plain is text of a peer as it may be shown and logged: one line of bounded length, with nothing in it that a terminal
// takes for an order.
func Plain(text string) string {
	n := 0
	return strings.Map(func(r rune) rune {
		n++
		switch {
		case n > maxPlain:
			return -1
		case !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, text)
}
