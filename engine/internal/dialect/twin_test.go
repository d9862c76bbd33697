package dialect

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
)

func TestBindTwins(t *testing.T) {
	taken := fmt.Errorf("bind: %w", syscall.EADDRINUSE)
	for _, tc := range []struct {
		addr  string
		fails int // so often
		with  error
		calls int
		ok    bool
	}{
		{"[::1]:0", 3, taken, 4, true},
		{"127.0.0.1:", 1, taken, 2, true},
		{":0", 100, taken, twinTries, false},
		{":0", 100, syscall.EACCES, 1, false},
		{":5201", 1, taken, 1, false},
		{"nonsense", 0, nil, 0, false},
	} {
		calls := 0
		err := BindTwins(tc.addr, func(host, addr string) error {
			if addr != tc.addr || strings.ContainsAny(host, "[]") {
				t.Errorf("%s: bind of %q on %q", tc.addr, host, addr)
			}
			if calls++; calls <= tc.fails {
				return tc.with
			}
			return nil
		})
		if calls != tc.calls || (err == nil) != tc.ok || err != nil && !strings.Contains(err.Error(), tc.addr) {
			t.Errorf("%s: %d calls, %v", tc.addr, calls, err)
		}
		if tc.with != nil && err != nil && !errors.Is(err, tc.with) {
			t.Errorf("%s: %v is not %v", tc.addr, err, tc.with)
		}
	}
}
