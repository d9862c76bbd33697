package metric

import "time"

// Serve is what a server answers, and what it lets its guests do.
type Serve struct {
	// Addresses are host:port, with an empty host for every address; an empty one turns the dialect off.
	Native string `json:"native,omitempty"`
	Iperf3 string `json:"iperf3,omitempty"`
	Iperf2 string `json:"iperf2,omitempty"`
	Rules  Rules  `json:"rules,omitzero"`
}

// Rules are what a server lets its guests do. The zero Rules let them do everything.
type Rules struct {
	Sessions int           `json:"sessions,omitempty"` // at once; 0 = [MaxSessions]
	RateBps  int64         `json:"rate_bps,omitempty"` // that a guest may ask a stream of this end to send; 0 = any
	Time     time.Duration `json:"time,omitempty"`     // that a session may take; 0 = any
	Key      []byte        `json:"key,omitempty"`      // shared secret of the native dialect; empty = none is asked for
	Once     bool          `json:"once,omitempty"`     // nobody is let in after the first
}

// MaxSessions bounds the guests of one server, whatever the rules say.
const MaxSessions = 64

// Listening is one dialect of a running server.
type Listening struct {
	Dialect string `json:"dialect"`
	Addr    string `json:"addr"`              // host:port that is served, or was asked for
	Skipped string `json:"skipped,omitempty"` // why it is not served
}
