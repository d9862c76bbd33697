package knob

import (
	"fmt"
	"strconv"
	"strings"
)

// vectorLen is how many numbers a Vector has: MIN, DEFAULT and MAX.
const vectorLen = 3

// vector is the canonical form of three numbers: decimal, one space between. All three are always there, since the kernel
// takes one or two and leaves the rest as it was; and they rise, since the kernel takes them in any order.
func (d Domain) vector(text string) (string, error) {
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	if len(text) > maxText || len(fields) != vectorLen {
		return "", fmt.Errorf("takes three numbers MIN,DEFAULT,MAX, not %.40s", quoteOdd(text))
	}
	var (
		parts [vectorLen]string
		last  int64
	)
	for i, f := range fields {
		n, err := ParseNumber(f, d.Base)
		if err != nil {
			return "", fmt.Errorf("takes three numbers: %w", err)
		}
		if n < d.Min || n > d.Max {
			return "", fmt.Errorf("takes three numbers of %d to %d, not %s", d.Min, d.Max, f)
		}
		if n < last {
			return "", fmt.Errorf("takes MIN <= DEFAULT <= MAX, not %d after %d", n, last)
		}
		parts[i], last = strconv.FormatInt(n, 10), n
	}
	return strings.Join(parts[:], " "), nil
}
