package host

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Bounds of the search for a port's owner: it is for one line of text.
const (
	maxPIDs    = 1 << 15
	maxFDs     = 1 << 12
	maxSockets = 4 << 20 // bytes of /proc/net/tcp
)

// PortOwner names the process that holds the TCP or UDP port below root, as "iperf3, pid 77"; empty where it cannot be
// seen: another user's process, or one in another container.
func PortOwner(root string, port int) string {
	inodes := make(map[string]bool)
	for _, name := range []string{"tcp", "tcp6", "udp", "udp6"} {
		f := open(filepath.Join(root, "proc/net", name), maxSockets)
		if b, ok := f.read(); ok {
			portInodes(b, port, inodes)
		}
		f.close()
	}
	if len(inodes) == 0 {
		return ""
	}
	procs, _ := os.ReadDir(filepath.Join(root, "proc")) // what was read of it is enough
	for _, p := range procs[:min(len(procs), maxPIDs)] {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join(root, "proc", p.Name())
		fds, _ := os.ReadDir(filepath.Join(dir, "fd"))
		for _, fd := range fds[:min(len(fds), maxFDs)] {
			to, _ := os.Readlink(filepath.Join(dir, "fd", fd.Name()))
			if inode, ok := strings.CutPrefix(to, "socket:["); ok && inodes[strings.TrimSuffix(inode, "]")] {
				comm, _ := os.ReadFile(filepath.Join(dir, "comm"))
				return fmt.Sprintf("%s, pid %d", bytes.TrimSpace(comm), pid)
			}
		}
	}
	return ""
}

// portInodes adds to found the sockets of /proc/net/tcp and its kin that are bound to the port and not connected:
// st 0A is listening, 07 what a UDP socket always is.
func portInodes(b []byte, port int, found map[string]bool) {
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) < 10 || string(f[3]) != "0A" && string(f[3]) != "07" {
			continue
		}
		_, hex, ok := bytes.Cut(f[1], []byte(":"))
		if n, err := strconv.ParseUint(string(hex), 16, 16); ok && err == nil && int(n) == port {
			found[string(f[9])] = true
		}
	}
}
