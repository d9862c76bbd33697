// Package nic is the network interface as the kernel shows it: its offload features over ethtool netlink, its MTU and
// queue length over rtnetlink, and its driver's name.
//
// A [Client] belongs to the network namespace of the thread that opened it, wherever it is used later. It reads without
// rights; writes need CAP_NET_ADMIN. It reports what the kernel says and never what was asked: after every write the
// caller reads again.
//
// Names are the kernel's: feature bits are those of net/ethtool/common.c netdev_features_strings, not the arguments of
// ethtool(8).
package nic
