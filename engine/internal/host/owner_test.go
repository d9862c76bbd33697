package host

import (
	"fmt"
	"net"
	"os"
	"testing"
)

func TestPortOwner(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%s, pid %d", comm[:len(comm)-1], os.Getpid())
	for _, port := range []int{l.Addr().(*net.TCPAddr).Port, u.LocalAddr().(*net.UDPAddr).Port} {
		if got := PortOwner(Root, port); got != want {
			t.Errorf("port %d: %q, want %q", port, got, want)
		}
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	if got := PortOwner(Root, port); got == want {
		t.Errorf("a closed port: %q", got)
	}
}

func FuzzPortInodes(f *testing.F) {
	f.Add([]byte("  sl  local_address rem_address   st\n   0: 0100007F:1452 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		found := make(map[string]bool)
		portInodes(b, 0x1452, found)
		if len(found) > len(b) {
			t.Error("more sockets than bytes")
		}
	})
}
