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

// wayEnv forces the way to ethtool: "ioctl", or empty for netlink where the kernel has it.
const wayEnv = "ETHTUNE_ETHTOOL"

// Client talks to one network namespace. Its methods may be called by any goroutine. After Close they fail.
type Client struct {
	link *netlink.Conn // rtnetlink
	card *card         // what only the ioctl has
	way  way           // to what both have
}

// way is one of the two ways to the settings that ethtool shows: netlink or, on kernels before 5.7, the ioctl. Its errors
// are bare: the Client says for what and whom. Interfaces' names are checked before they come here.
type way interface {
	features(dev string) ([]Feature, error)
	setFeatures(dev string, bits map[string]bool) error
	coalesce(dev string) ([]Param, error)
	setCoalesce(dev string, values map[string]uint32) error
	rings(dev string) ([]Param, error)
	setRings(dev string, values map[string]uint32) error
	close() error
}

// Open opens a Client in the network namespace of the calling thread. On a kernel without ethtool netlink, or with
// ETHTUNE_ETHTOOL=ioctl in the environment, it goes the way of the ioctl; the answers are the same.
func Open() (*Client, error) {
	c := &Client{}
	if err := c.open(os.Getenv(wayEnv)); err != nil {
		c.Close()
		return nil, fmt.Errorf("open network settings: %w", err)
	}
	return c, nil
}

func (c *Client) open(forced string) error {
	if forced != "" && forced != "ioctl" {
		return fmt.Errorf("%s=%.20q: it takes ioctl or nothing", wayEnv, forced)
	}
	var err error
	if c.link, err = netlink.Dial(unix.NETLINK_ROUTE, nil); err != nil {
		return err
	}
	if err := explain(c.link); err != nil {
		return err
	}
	if c.card, err = openCard(); err != nil {
		return err
	}
	if forced == "" {
		g, err := openGenetlink()
		if err != nil {
			return err
		}
		if g != nil {
			c.way = g
			return nil
		}
	}
	c.way = ioctlWay{c.card}
	return nil
}

// genetlinkWay is ethtool netlink.
type genetlinkWay struct {
	conn   *genetlink.Conn
	family uint16 // the number the kernel gave the ethtool family
}

// openGenetlink returns nil on a kernel without ethtool netlink: older than 5.6, or built without CONFIG_ETHTOOL_NETLINK.
// Linux 5.6 has the family and not yet the requests, so it is tried with one about the interface that is everywhere.
func openGenetlink() (*genetlinkWay, error) {
	conn, err := genetlink.Dial(nil)
	if errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	family, err := conn.GetFamily(unix.ETHTOOL_GENL_NAME)
	if err == nil {
		err = explain(conn)
	}
	if err != nil {
		closed := conn.Close()
		if errors.Is(err, os.ErrNotExist) {
			return nil, closed
		}
		return nil, errors.Join(err, closed)
	}
	g := &genetlinkWay{conn, family.ID}
	if _, err := g.get(unix.ETHTOOL_MSG_FEATURES_GET, "lo"); errors.Is(err, unix.EOPNOTSUPP) {
		return nil, g.close()
	}
	return g, nil
}

func (g *genetlinkWay) close() error { return g.conn.Close() }

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
	if c.way != nil {
		errs = append(errs, c.way.close())
	}
	if c.card != nil {
		c.card.close()
	}
	return errors.Join(errs...)
}

// ask puts one question about dev that may have an answer of its own.
func ask[T any](op, dev string, question func(dev string) (T, error)) (T, error) {
	if err := checkName(dev); err != nil {
		var none T
		return none, refused(op, dev, err)
	}
	answer, err := question(dev)
	return answer, refused(op, dev, err)
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
