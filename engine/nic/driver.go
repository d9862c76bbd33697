package nic

import "golang.org/x/sys/unix"

// Driver is the name of the interface's driver. There is no netlink message for it, so this is the one ioctl
// (ETHTOOL_GDRVINFO), which also works on kernels without ethtool netlink.
func (c *Client) Driver(dev string) (string, error) {
	if err := checkName(dev); err != nil {
		return "", refused("read driver", dev, err)
	}
	raw, err := c.inet.SyscallConn()
	if err != nil {
		return "", err
	}
	var (
		info *unix.EthtoolDrvinfo
		told error
	)
	if err := raw.Control(func(fd uintptr) { info, told = unix.IoctlGetEthtoolDrvinfo(int(fd), dev) }); err != nil {
		return "", err
	}
	if told != nil {
		return "", refused("read driver", dev, told)
	}
	return unix.ByteSliceToString(info.Driver[:]), nil
}
