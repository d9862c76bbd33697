package kernel

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ethtune/ethtune/tune/knob"
)

// memTotal is the machine's memory in bytes, 0 where the kernel does not say. It is in the first line of meminfo.
func memTotal(proc string) int64 {
	f, err := os.Open(filepath.Join(proc, "meminfo"))
	if err != nil {
		return 0
	}
	defer f.Close()
	buf := make([]byte, maxValue)
	n, _ := f.Read(buf)
	return parseMemTotal(string(buf[:n]))
}

// parseMemTotal reads the "MemTotal: 8123456 kB" that meminfo begins with.
func parseMemTotal(text string) int64 {
	line, _, _ := strings.Cut(text, "\n")
	fields := strings.Fields(line)
	if len(fields) != 3 || fields[0] != "MemTotal:" || fields[2] != "kB" {
		return 0
	}
	kb, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil || kb < 0 || kb > 1<<50 {
		return 0
	}
	return kb << 10
}

// Check refuses what is out of reason on this machine: a buffer of more than an eighth of its memory. It is for turns;
// what was found above that is put back all the same.
func (s *Sysctls) Check(set knob.Setting) error {
	doc, _ := knob.Lookup(set.Knob)
	d := knob.DomainOf(set.Knob)
	if s.ram == 0 || doc.Unit != "bytes" || d.Usual == 0 {
		return nil
	}
	for _, f := range strings.Fields(set.Value) {
		if n, err := strconv.ParseInt(f, 10, 64); err == nil && n > s.ram/8 {
			return fmt.Errorf("%s takes at most %d here, an eighth of this machine's memory, not %d", knob.Short(set.Knob), s.ram/8, n)
		}
	}
	return nil
}
