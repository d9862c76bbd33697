package chart

import (
	"math"
	"strconv"
)

// numberCells is the width of every number on the screen: digits stand still, so their column never grows.
const numberCells = 5

// Number writes v in at most 5 cells: one decimal below 1000 (7.4, 934.1), none from there on (1351), "–" for what was not
// measured. Something too small for its decimals is "<0.1", never zero; from 100000 on there is an exponent.
func Number(v float64) string {
	var b [32]byte
	return string(appendNumber(b[:0], v, 1))
}

// NumberLoss writes a share in percent in at most 5 cells: two decimals below 100 (0.50, 12.25), one at 100.
// Something too small for them is "<0.01", never zero.
func NumberLoss(v float64) string {
	var b [32]byte
	return string(appendNumber(b[:0], v, 2))
}

// NumberFine is [Number] with three decimals below 0.1, for an axis of decades: one spike that takes it to milliseconds
// leaves the microseconds beside it readable. Something too small even for them is "<.001".
func NumberFine(v float64) string {
	switch {
	case v >= 0.1 || v <= 0 || v != v:
		return Number(v)
	case v < 0.0005:
		return "<.001"
	}
	var b [32]byte
	return string(appendNumber(b[:0], v, 3))
}

func appendNumber(b []byte, v float64, decimals int) []byte {
	switch {
	case v != v:
		return append(b, "–"...)
	case v > 9e99:
		return append(b, ">9e99"...)
	case v < -9999:
		return append(b, "<-9e3"...)
	case v == 0:
		v = 0 // Minus zero is zero.
	case v > 0 && v < 0.5*math.Pow10(-decimals):
		b = append(b, '<')
		return strconv.AppendFloat(b, math.Pow10(-decimals), 'f', decimals, 64)
	}
	for d := decimals; d >= 0; d-- {
		if math.Abs(v) >= 999.95 && d > 0 {
			continue
		}
		if n := len(strconv.AppendFloat(b, v, 'f', d, 64)) - len(b); n <= numberCells {
			return strconv.AppendFloat(b, v, 'f', d, 64)
		}
	}
	return strconv.AppendFloat(b, v, 'e', 0, 64)
}

// appendLabel writes an axis value in at most 5 cells and without needless zeros.
func appendLabel(b []byte, v float64) []byte {
	if v == 0 {
		return append(b, '0')
	}
	// Four digits are all that fit, and rounding to them hides what division by the unit left behind.
	digits := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	n := len(b)
	b = strconv.AppendFloat(b, math.Round(v*digits)/digits, 'f', -1, 64)
	if len(b)-n <= numberCells {
		return b
	}
	return appendNumber(b[:n], v, 1)
}
