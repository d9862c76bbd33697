package dialect

import (
	"strings"
	"testing"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"the key is not: größer":     "the key is not: größer",
		"\x1b]0;owned\x07 a\r\nb\tc": "?]0;owned? a??b?c",
		"\u009b2J\u202egnp\xff":      "?2J?gnp\ufffd",
	} {
		if got := Plain(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if n := len([]rune(Plain(strings.Repeat("é", 100_000)))); n != maxPlain {
		t.Errorf("%d characters", n)
	}
}
