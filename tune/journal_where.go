package tune

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/nic"
	"github.com/ethtune/ethtune/tune/knob"
)

// Where says what is turned, so that nothing else is ever put back in its place: a kernel since it booted, a network
// namespace in it, and a device in that. None of it is a path.
type Where struct {
	Boot   string `json:"boot"`              // the kernel's boot id
	NS     string `json:"ns,omitempty"`      // the namespace's cookie; empty = the knob belongs to the host
	Index  int    `json:"ifindex,omitempty"` // 0 = the knob belongs to the namespace
	Addr   string `json:"addr,omitempty"`    // the permanent address; empty where the device has none
	Driver string `json:"driver,omitempty"`  // empty where the device has none
	Dev    string `json:"dev,omitempty"`     // how the device was called, for people: it may be renamed since
}

// bootID is where the kernel says which boot this is.
const bootID = "/proc/sys/kernel/random/boot_id"

// Here is where the calling thread is: its network namespace, and the device dev in it; without dev, the namespace alone.
func Here(dev string) (Where, error) {
	w, err := hereNS()
	if err != nil || dev == "" {
		return w, err
	}
	link, err := netlink.LinkByName(dev)
	if err != nil {
		return Where{}, fmt.Errorf("%s: %w", dev, err)
	}
	return w.of(link)
}

// whereIndex is Here for the device with the index. One that does not exist, or index 0, leaves the namespace alone.
func whereIndex(index int) (Where, error) {
	w, err := hereNS()
	if err != nil || index == 0 {
		return w, err
	}
	link, err := netlink.LinkByIndex(index)
	if missing := (netlink.LinkNotFoundError{}); errors.As(err, &missing) || errors.Is(err, unix.ENODEV) {
		return w, nil
	}
	if err != nil {
		return Where{}, fmt.Errorf("interface %d: %w", index, err)
	}
	return w.of(link)
}

func hereNS() (Where, error) {
	id, err := os.ReadFile(bootID)
	if err != nil {
		return Where{}, err
	}
	ns, err := namespace()
	return Where{Boot: strings.TrimSpace(string(id)), NS: ns}, err
}

// namespace is the cookie of the calling thread's network namespace, which is never given to another while the kernel
// runs. Kernels before 5.14 have none; the inode there may be given again after the namespace is gone.
func namespace() (string, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	if err == nil {
		return "cookie-" + strconv.FormatUint(cookie, 10), nil
	}
	if !errors.Is(err, unix.ENOPROTOOPT) {
		return "", os.NewSyscallError("getsockopt SO_NETNS_COOKIE", err)
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/net", &st); err != nil {
		return "", fmt.Errorf("network namespace: %w", err)
	}
	return fmt.Sprintf("inode-%d-%d", st.Dev, st.Ino), nil
}

// of adds the device to its namespace.
func (w Where) of(link netlink.Link) (Where, error) {
	client, err := nic.Open()
	if err != nil {
		return Where{}, err
	}
	defer client.Close()
	attrs := link.Attrs()
	w.Index, w.Dev, w.Addr = attrs.Index, attrs.Name, attrs.PermHWAddr.String()
	// A device that has no driver to name, such as lo, is told apart by the rest.
	w.Driver, _ = client.Driver(attrs.Name)
	return w, nil
}

// place is the part of w that the knob belongs to, without the device's changeable name, to compare and to look up by.
func (w Where) place(name string) Where {
	w = w.scope(name)
	w.Dev = ""
	return w
}

// scope is the part of w that the knob belongs to: the host, the namespace or the device.
func (w Where) scope(name string) Where {
	doc, _ := knob.Lookup(name)
	switch family := knob.Family(name); {
	case doc.HostWide(), family == "irq", family == "cpu":
		return Where{Boot: w.Boot}
	case family == "sysctl":
		return Where{Boot: w.Boot, NS: w.NS}
	}
	return w
}

// valid refuses what the program never writes.
func (w Where) valid() bool {
	plain := func(s string, most int, more string) bool {
		return len(s) <= most && !strings.ContainsFunc(s, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune(more, r)
		})
	}
	_, bad := net.ParseMAC(w.Addr)
	switch {
	case len(w.Boot) != 36 || !plain(w.Boot, 36, "-"), !plain(w.NS, 48, "-"), w.Addr != "" && bad != nil:
		return false
	case w.Index < 0 || w.Index > math.MaxInt32:
		return false
	case w.Index > 0 && w.NS == "", w.Index == 0 && w.Addr+w.Driver+w.Dev != "":
		return false
	}
	return printable(w.Driver, 32) && printable(w.Dev, unix.IFNAMSIZ-1) && !strings.ContainsAny(w.Dev, "/: ")
}
