package metric

import "time"

// Guest is a session of a server as it is seen there: a "guest" line. Bytes are of the whole session.
type Guest struct {
	ID      int       `json:"id"`
	Event   string    `json:"event"` // in, here or out
	Time    time.Time `json:"time"`
	Dialect string    `json:"dialect"`
	Peer    string    `json:"peer"` // address:port
	Proto   Proto     `json:"proto,omitempty"`
	Mode    Mode      `json:"mode,omitempty"` // seen from the guest: out = it sends
	Streams int       `json:"streams,omitempty"`
	Seconds float64   `json:"seconds"`  // since it came
	TxBytes uint64    `json:"tx_bytes"` // this end sent
	RxBytes uint64    `json:"rx_bytes"` // this end received

	JitterMs Num `json:"jitter_ms,omitzero"` // UDP, of what was received here
	Lost     Num `json:"lost,omitzero"`
	Packets  Num `json:"packets,omitzero"`

	Reason string `json:"reason,omitempty"` // out: why, where it did not end as it should
}

// RecordType is the line's type.
func (*Guest) RecordType() string { return "guest" }
