// Package nic is the network interface as the kernel shows it: its offload features, coalescing and rings over ethtool
// netlink, its MTU and queue length over rtnetlink, and what only the ioctl tells: the driver's name, statistics and
// private flags.
//
// On kernels without ethtool netlink the ioctl serves for all of it, with the same answers; ETHTUNE_ETHTOOL=ioctl in the
// environment forces that way. Then the kernel's words are those of its error numbers.
//
// A [Client] belongs to the network namespace of the thread that opened it, wherever it is used later. It reads without
// rights; writes need CAP_NET_ADMIN. It reports what the kernel says and never what was asked: after every write the
// caller reads again.
//
// Names are the kernel's: feature bits are those of net/ethtool/common.c netdev_features_strings, not the arguments of
// ethtool(8).
package nic
