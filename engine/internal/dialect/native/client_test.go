package native

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A far end that falls silent is told of once, and so is its first word after that.
func TestSilenceIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		c := &Client{heard: time.Now(), note: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
		for range 5 {
			<-time.After(time.Second)
			c.listen()
		}
		c.heard = time.Now()
		c.listen()
		c.listen()
		if want := []string{"no word from the far end for 2s", "the far end is heard again"}; !slices.Equal(said, want) {
			t.Errorf("%q", said)
		}
	})
}
