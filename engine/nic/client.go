package nic

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Client talks to one network namespace. Its methods may be called by any goroutine. After Close they fail.
type Client struct {
	link    *netlink.Conn   // rtnetlink
	ethtool *genetlink.Conn // nil on a kernel without ethtool netlink
	family  uint16          // the number the kernel gave the ethtool family
	inet    *os.File        // a datagram socket that carries the ioctl for the driver's name
}

// Open opens a Client in the network namespace of the calling thread. A kernel without ethtool netlink is no error here:
// [Client.Features] and [Client.SetFeatures] then return [ErrNoNetlink], and all else works.
func Open() (*Client, error) {
	c := &Client{}
	if err := c.open(); err != nil {
		c.Close()
		return nil, fmt.Errorf("open network settings: %w", err)
	}
	return c, nil
}

func (c *Client) open() error {
	var err error
	if c.link, err = netlink.Dial(unix.NETLINK_ROUTE, nil); err != nil {
		return err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	c.inet = os.NewFile(uintptr(fd), "inet")
	if err := explain(c.link); err != nil {
		return err
	}
	return c.openEthtool()
}

func (c *Client) openEthtool() error {
	conn, err := genetlink.Dial(nil)
	if err != nil {
		return err
	}
	family, err := conn.GetFamily(unix.ETHTOOL_GENL_NAME)
	if err != nil {
		err = errors.Join(err, conn.Close())
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	c.ethtool, c.family = conn, family.ID
	return explain(conn)
}

// explain asks the kernel for its words beside its error numbers. Kernels before 4.12 do not have them, and work.
func explain(conn interface {
	SetOption(netlink.ConnOption, bool) error
}) error {
	err := conn.SetOption(netlink.ExtendedAcknowledge, true)
	if errors.Is(err, unix.ENOPROTOOPT) {
		return nil
	}
	return err
}

// Close lets go of the sockets.
func (c *Client) Close() error {
	var errs []error
	if c.link != nil {
		errs = append(errs, c.link.Close())
	}
	if c.ethtool != nil {
		errs = append(errs, c.ethtool.Close())
	}
	if c.inet != nil {
		errs = append(errs, c.inet.Close())
	}
	return errors.Join(errs...)
}

var errName = errors.New("an interface's name has 1 to 15 characters, and no / : or space")

// checkName refuses what no interface can be called (net/core/dev.c dev_valid_name), since a longer name would be cut
// short on its way and could name another one.
func checkName(dev string) error {
	if dev == "" || len(dev) >= unix.IFNAMSIZ || strings.ContainsAny(dev, "/: \t\n\x00") {
		return errName
	}
	return nil
}
