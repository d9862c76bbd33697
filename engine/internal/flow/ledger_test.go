package flow

import (
	"errors"
	"testing"
)

// A stream that was being opened while its session ended does not stay behind.
func TestClosedLedgerKeepsNothing(t *testing.T) {
	a, b := tcpPair(t)
	s, err := NewTCPSender(a, Config{Size: DefaultTCPSize})
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewTCPReceiver(b, Config{Size: DefaultTCPSize})
	if err != nil {
		t.Fatal(err)
	}
	var l Ledger
	l.Close()
	l.AddSender(1, s)
	l.AddReceiver(1, r)
	for name, use := range map[string]func(func(int) error) error{"sender": s.use, "receiver": r.use} {
		if err := use(func(int) error { return nil }); !errors.Is(err, errClosed) {
			t.Errorf("the %s's socket is open: %v", name, err)
		}
	}
	l.Start()
}
