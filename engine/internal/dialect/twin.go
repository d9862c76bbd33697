package dialect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// twinTries is how often a free TCP port is looked for whose UDP twin is free as well.
const twinTries = 16

// BindTwins has bind open the TCP and the UDP socket of a server on addr, host:port. Where addr leaves the port to the kernel
// it is called anew if the one that is free for TCP is somebody's for UDP.
func BindTwins(addr string, bind func(host, addr string) error) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	for range twinTries {
		if err = bind(host, addr); !errors.Is(err, syscall.EADDRINUSE) || port != "0" && port != "" {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	return nil
}

// ListenTCP listens on addr as lc says, for TCP alone. Go's listeners take multipath TCP as well, and such a socket has
// neither every option of TCP nor its counters.
func ListenTCP(lc net.ListenConfig, addr string) (*net.TCPListener, error) {
	lc.SetMultipathTCP(false)
	l, err := lc.Listen(context.Background(), "tcp", addr)
	if err != nil {
		return nil, err
	}
	return l.(*net.TCPListener), nil
}

// SharePort lets other sockets of this process have the port of c (SO_REUSEPORT), before it is bound or after.
func SharePort(c syscall.RawConn) error {
	var opt error
	err := c.Control(func(fd uintptr) { opt = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1) })
	return errors.Join(err, opt)
}
