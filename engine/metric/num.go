package metric

import (
	"encoding/json"
	"math"
)

// Num is a measured number or its absence. The zero Num is "not measured".
// Fields of this type carry the json option omitzero, so an absent number is a missing field and never 0.
type Num struct {
	v  float64
	ok bool
}

// N is a measured v. A NaN or an infinity is not a measurement: it gives the absent Num.
func N(v float64) Num {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Num{}
	}
	return Num{v: v, ok: true}
}

// Get returns the number and whether there is one.
func (n Num) Get() (float64, bool) { return n.v, n.ok }

// Or returns the number, or alt where it is absent.
func (n Num) Or(alt float64) float64 {
	if n.ok {
		return n.v
	}
	return alt
}

// Float returns the number, or NaN where it is absent: the form charts take gaps in.
func (n Num) Float() float64 { return n.Or(math.NaN()) }

// IsZero reports absence; encoding/json asks it for omitzero.
func (n Num) IsZero() bool { return !n.ok }

// Add is the sum of what is there: absent only when both are.
func (n Num) Add(m Num) Num {
	switch {
	case !n.ok:
		return m
	case !m.ok:
		return n
	}
	return N(n.v + m.v)
}

// MarshalJSON writes the number, or null where it is absent and the field lacks omitzero.
func (n Num) MarshalJSON() ([]byte, error) {
	if !n.ok {
		return []byte("null"), nil
	}
	return json.Marshal(n.v)
}

// UnmarshalJSON reads a number; null is absence.
func (n *Num) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = Num{}
		return nil
	}
	var v float64
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	*n = N(v)
	return nil
}
