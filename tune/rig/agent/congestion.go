package agent

import (
	"os"
	"strings"
)

// congestions lists the congestion controls that the kernel has loaded.
func congestions() []string {
	b, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		return nil
	}
	return strings.Fields(string(b))
}
