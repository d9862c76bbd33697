package iperf3

import (
	"fmt"
	"strconv"
)

// number is a number of the peer's JSON. It is read leniently: 3.12 writes -1 as 18446744073709551615, versions up to 3.11
// write what is over 1e15 with an exponent, 3.1 writes integers with decimals.
type number float64

// unknown is how iperf3 writes what a side does not measure.
const unknown number = -1

// unsignedFrom is where a number can only be a negative one that was printed without its sign.
const unsignedFrom = 9.2e18

// UnmarshalJSON takes any JSON number; true is 1, false and null are 0.
func (n *number) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		*n = 1
		return nil
	case "false", "null":
		*n = 0
		return nil
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return fmt.Errorf("%.40q is not a number", b)
	}
	if v > unsignedFrom {
		v = float64(unknown)
	}
	*n = number(v)
	return nil
}

// count is the number as a counter: what is negative or unknown is 0.
func (n number) count() uint64 {
	if n <= 0 {
		return 0
	}
	return uint64(n)
}

// integer is the number as an integer; what does not fit is -1, which no check lets pass.
func (n number) integer() int64 {
	if n < -1 || n > 1<<53 {
		return -1
	}
	return int64(n)
}

// flag is a parameter that is on where its key is there: every version takes "reverse":false for true.
type flag bool

// UnmarshalJSON is called where the key is there.
func (f *flag) UnmarshalJSON([]byte) error {
	*f = true
	return nil
}
