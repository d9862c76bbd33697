package native

import (
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestSilenceEndsAControlConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		defer theirs.Close()
		start := time.Now()
		_, err := newControl(ours, ours, silence).receive()
		if err == nil || !strings.Contains(err.Error(), "no word for 10s") || time.Since(start) != silence {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestAPeerThatDoesNotReadIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		defer theirs.Close()
		start := time.Now()
		err := newControl(ours, ours, silence).send(&line{Type: typeBeat})
		if err == nil || time.Since(start) != writeTimeout {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}
