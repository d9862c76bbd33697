package engine

import (
	"testing"
	"time"
)

// An iperf server is never asked, and that of UDP takes no connection: nobody has to be there.
func TestIperf2IsNotAsked(t *testing.T) {
	for _, addr := range []string{"192.0.2.1:5001", "[2001:db8::1]:5001", "[fe80::1%lo]:5001"} {
		if got, err := detect(t.Context(), addr, Options{Timeout: time.Nanosecond}); got != "iperf2" || err != nil {
			t.Errorf("%s: %q %v", addr, got, err)
		}
	}
}

func TestDialectOf(t *testing.T) {
	for first, want := range map[byte]string{'{': "native", 9: "iperf3", 0xff: "iperf3", 0xfe: "iperf3", 'H': "", 0: ""} {
		if got, err := dialectOf(first, "192.0.2.1:1"); got != want || (err == nil) != (want != "") {
			t.Errorf("%#x: %q %v", first, got, err)
		}
	}
}
