package knob

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseNumber reads a decimal number with one of K M G T, which count in units of base, or Ki Mi Gi Ti, which always
// count in 1024. A fraction is allowed before a suffix ("1.5G"), as iperf3 allows it, and rounds to the nearest unit.
func ParseNumber(text string, base int64) (int64, error) {
	if len(text) > 24 {
		return 0, fmt.Errorf("%.24q is too long for a number", text)
	}
	digits := strings.TrimRight(text, "KMGTkmgti")
	if !plain(digits) {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	factor, err := suffix(text[len(digits):], base)
	if err != nil {
		return 0, err
	}
	if factor == 1 {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not a whole number", text)
		}
		return n, nil
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	// Above 2^53 a float64 skips integers; no knob goes there.
	if f *= float64(factor); f >= 1<<53 {
		return 0, fmt.Errorf("%q is too large", text)
	}
	return int64(math.Round(f)), nil
}

// plain keeps out what strconv takes and people do not mean: signs, exponents, hexadecimal, underscores, infinity.
func plain(digits string) bool {
	dots := 0
	for i := 0; i < len(digits); i++ {
		switch c := digits[i]; {
		case c == '.':
			dots++
		case c < '0' || c > '9':
			return false
		}
	}
	return digits != "" && dots <= 1 && digits[0] != '.'
}

func suffix(s string, base int64) (int64, error) {
	if s == "" {
		return 1, nil
	}
	power := strings.IndexByte("kmgt", s[0]|0x20) + 1
	if power == 0 || len(s) > 2 || (len(s) == 2 && s[1] != 'i') {
		return 0, fmt.Errorf("%q is not one of K M G T Ki Mi Gi Ti", s)
	}
	if len(s) == 2 {
		base = 1024
	}
	factor := int64(1)
	for range power {
		factor *= base
	}
	return factor, nil
}
