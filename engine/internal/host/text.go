package host

import (
	"bytes"
	"math"
)

// word cuts the first word off b, which is empty where there is none. Words are set apart by spaces and tabs.
func word(b []byte) (first, rest []byte) {
	start := 0
	for start < len(b) && (b[start] == ' ' || b[start] == '\t') {
		start++
	}
	end := start
	for end < len(b) && b[end] != ' ' && b[end] != '\t' {
		end++
	}
	return b[start:end], b[end:]
}

// line cuts the first line off b, without its end.
func line(b []byte) (first, rest []byte) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

// decimal reads a number of nothing but digits that fits 64 bits.
func decimal(b []byte) (uint64, bool) {
	if len(b) == 0 {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		d := uint64(c - '0')
		if d > 9 || n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

// hexadecimal reads a number of nothing but hexadecimal digits that fits 32 bits.
func hexadecimal(b []byte) (uint32, bool) {
	if len(b) == 0 {
		return 0, false
	}
	var n uint32
	for _, c := range b {
		var d uint32
		switch {
		case '0' <= c && c <= '9':
			d = uint32(c - '0')
		case 'a' <= c && c <= 'f':
			d = uint32(c-'a') + 10
		case 'A' <= c && c <= 'F':
			d = uint32(c-'A') + 10
		default:
			return 0, false
		}
		if n>>28 != 0 {
			return 0, false
		}
		n = n<<4 | d
	}
	return n, true
}
