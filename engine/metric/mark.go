package metric

import "time"

// Mark is a point in time where a knob was turned, and what the kernel made of it: a "mark" line.
// It opens before the write (Outcome is [Pending]) and closes with what was read back.
type Mark struct {
	N       int       `json:"n"` // 1, 2, 3 ... in the order of turning
	T       float64   `json:"t"` // seconds since traffic first flowed
	Time    time.Time `json:"time"`
	Knob    string    `json:"knob"`
	Side    string    `json:"side"` // near, far or host
	From    string    `json:"from"`
	Asked   string    `json:"asked"`
	Got     string    `json:"got"` // what the kernel says after the write
	Outcome string    `json:"outcome"`
	Also    []Also    `json:"also,omitempty"`   // side effects
	Reason  string    `json:"reason,omitempty"` // the kernel's own words, or ours where it has none
	Denied  bool      `json:"denied,omitempty"` // it was refused for want of a right
}

// Pending is the Outcome of a Mark whose answer is not there yet. The others are tune/knob's.
const Pending = "pending"

// Also is another knob that moved with the one that was turned.
type Also struct {
	Knob string `json:"knob"`
	From string `json:"from"`
	To   string `json:"to"`
}

// RecordType is the line's type.
func (*Mark) RecordType() string { return "mark" }

// Note is something that happened to the traffic and was nobody's turn of a knob: a "note" line.
type Note struct {
	T    float64   `json:"t"`
	Time time.Time `json:"time"`
	Text string    `json:"text"` // one sentence fragment, lower case: "4 streams opened"
}

// RecordType is the line's type.
func (*Note) RecordType() string { return "note" }
