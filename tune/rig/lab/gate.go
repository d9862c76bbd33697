package lab

import (
	"fmt"
	"os"
	"strings"
)

// gates are the settings that keep an ordinary user from a lab, and the value that says so. Debian's and Ubuntu's own
// come beside the kernel's.
var gates = []struct{ name, path, shut string }{
	{"kernel.apparmor_restrict_unprivileged_userns = 1", "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"},
	{"user.max_user_namespaces = 0", "/proc/sys/user/max_user_namespaces", "0"},
	{"kernel.unprivileged_userns_clone = 0", "/proc/sys/kernel/unprivileged_userns_clone", "0"},
}

// explain names the gate that is shut, and the way in that weakens nothing.
func explain(err error) error {
	gate := shutGate(os.ReadFile)
	return fmt.Errorf("%w; %s; try: go run -exec sudo ./cmd/ethtune lab (or sudo ethtune lab)", err, gate)
}

func shutGate(read func(string) ([]byte, error)) string {
	for _, g := range gates {
		if b, err := read(g.path); err == nil && strings.TrimSpace(string(b)) == g.shut {
			return "the gate is " + g.name
		}
	}
	if b, err := read("/proc/self/status"); err == nil && strings.Contains(string(b), "\nSeccomp:\t2") {
		return "the gate is probably a seccomp filter, as containers have"
	}
	return "it needs user namespaces or CAP_SYS_ADMIN and CAP_NET_ADMIN"
}
