package metric

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxCPUs bounds a processor number: the kernel's NR_CPUS is at most 8192 on the machines it runs on.
const MaxCPUs = 8192

// ParseCPUs reads a list as the kernel writes it, "0-3,8", into its numbers in the order given. Empty is none.
func ParseCPUs(list string) ([]int, error) {
	if list == "" {
		return nil, nil
	}
	var cpus []int
	for _, part := range strings.Split(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		lo, err := cpu(from)
		hi := lo
		if err == nil && isRange {
			hi, err = cpu(to)
		}
		if err != nil || hi < lo {
			return nil, fmt.Errorf("processors %.40q: a list such as 2 or 0-1,4", list)
		}
		for n := lo; n <= hi && len(cpus) < MaxCPUs; n++ {
			cpus = append(cpus, n)
		}
	}
	return cpus, nil
}

func cpu(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err == nil && n >= MaxCPUs {
		err = strconv.ErrRange
	}
	return int(n), err
}
