package iperf3

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ethtune/ethtune/engine/metric"
)

// results are what one end measured of a test. All versions read them and abort where a key is missing, so all are always
// sent, and what is not measured is -1.
type results struct {
	CPUTotal      number     `json:"cpu_util_total"` // percent of one processor
	CPUUser       number     `json:"cpu_util_user"`
	CPUSystem     number     `json:"cpu_util_system"`
	HasRetrans    number     `json:"sender_has_retransmits"` // -1 where this end sends nothing
	Congestion    string     `json:"congestion_used,omitempty"`
	ServerOutput  string     `json:"server_output_text,omitempty"`
	StreamResults resultList `json:"streams"`
}

// streamResult is one stream. Packets, errors and retransmits are of the whole test, bytes are without the omitted.
type streamResult struct {
	ID             number `json:"id"`
	Bytes          number `json:"bytes"`
	Retransmits    number `json:"retransmits"`
	Jitter         number `json:"jitter"` // s
	Errors         number `json:"errors"` // lost
	OmittedErrors  number `json:"omitted_errors"`
	Packets        number `json:"packets"` // a sender's: sent; a receiver's: the highest sequence number
	OmittedPackets number `json:"omitted_packets"`
	StartTime      number `json:"start_time"`
	EndTime        number `json:"end_time"` // s
}

// UnmarshalJSON leaves what is missing unknown: start_time and end_time came with 3.2, the omitted ones with 3.14.
func (s *streamResult) UnmarshalJSON(b []byte) error {
	type plain streamResult
	p := plain{ID: unknown, Bytes: unknown, Retransmits: unknown, Jitter: unknown, Errors: unknown, Packets: unknown, EndTime: unknown}
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	*s = streamResult(p)
	return nil
}

// resultList is a list of no more streams than a test can have.
type resultList []streamResult

// UnmarshalJSON reads one stream after the other, so that a list without end takes no memory.
func (l *resultList) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return fmt.Errorf("streams is not a list")
	}
	*l = nil
	for d.More() {
		if len(*l) == 2*metric.MaxStreams {
			return fmt.Errorf("more than %d streams", 2*metric.MaxStreams)
		}
		var s streamResult
		if err := d.Decode(&s); err != nil {
			return err
		}
		*l = append(*l, s)
	}
	return nil
}

// parseResults reads what the other end sent.
func parseResults(b []byte) (*results, error) {
	r := &results{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	if r.StreamResults == nil {
		return nil, fmt.Errorf("read the results: there are no streams in them")
	}
	for _, s := range r.StreamResults {
		if s.ID < 0 || s.Bytes < 0 {
			return nil, fmt.Errorf("read the results: a stream without id or bytes")
		}
	}
	return r, nil
}

// of finds the stream of that id; false where there is none.
func (r *results) of(id int) (streamResult, bool) {
	for _, s := range r.StreamResults {
		if s.ID == number(id) {
			return s, true
		}
	}
	return streamResult{}, false
}

// received is how many datagrams a receiver got: the highest number it saw, less what was missing before it.
func (s streamResult) received() uint64 {
	p := s.Packets.count()
	return p - min(p, s.Errors.count())
}
