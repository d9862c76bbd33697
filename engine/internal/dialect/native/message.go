package native

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/metric"
)

// Version is of the control lines, the preamble and the datagrams. Ends of different versions do not talk.
const Version = 2

// dialectName is what a hello calls this protocol.
const dialectName = "ethtune"

// Bounds of one session and one server.
const (
	maxLine    = 64 << 10
	maxStreams = 2*metric.MaxStreams*2 + 1 // both directions, twice while a load is replaced, and the probe

	greetTimeout  = 5 * time.Second  // to say it
	silence       = 10 * time.Second // of the near end, after which the far end gives up
	farSilence    = 3 * time.Second  // of the far end, after which the near end gives up
	beat          = time.Second
	statsInterval = 100 * time.Millisecond
	joinTimeout   = 5 * time.Second // for a stream's connection or datagram to arrive
	helloAgain    = 100 * time.Millisecond
	writeTimeout  = 5 * time.Second
)

// Types of control lines.
const (
	typeHello   = "hello"     // both ways, first
	typeWho     = "who"       // near to far, instead of a hello: only say what you are
	typeAsk     = "challenge" // far to near, before its hello: prove that you have the key
	typeProve   = "prove"     // the answer
	typeOpen    = "open"      // request: expect the stream
	typeJoin    = "join"      // request: answer once the stream is there, with what was granted
	typeStart   = "start"     // request: let what was opened run
	typeAim     = "aim"       // request: new rate of the far senders, and new calls of the far streams
	typeTune    = "tune"      // request: new options of the sockets of the far streams; the answer says what was granted
	typeRenew   = "renew"     // request: begin streams with the buffers that the kernel gives now
	typeClose   = "close"     // request: end streams
	typeDone    = "done"      // answer
	typeRefused = "refused"   // answer, with the reason
	typeStats   = "stats"     // far to near
	typeBeat    = "beat"
)

// protoProbe is the echo stream's; the others are metric's.
const protoProbe metric.Proto = "probe"

// line is any control line; which fields are there depends on the type.
type line struct {
	Type   string                          `json:"type"`
	N      uint64                          `json:"n,omitempty"`       // number of a request, repeated in its answer
	Proto  string                          `json:"dialect,omitempty"` // hello
	V      int                             `json:"v,omitempty"`       // hello
	Nonce  string                          `json:"nonce,omitempty"`   // hello, near to far: 16 random bytes; challenge, far to near: the same
	Proof  string                          `json:"proof,omitempty"`   // prove, near to far; hello, far to near
	Token  string                          `json:"token,omitempty"`   // hello, far to near
	Stream *StreamSpec                     `json:"stream,omitempty"`  // open
	ID     uint32                          `json:"id,omitempty"`      // join
	Rate   int64                           `json:"rate,omitempty"`    // aim
	Calls  *metric.Calls                   `json:"calls,omitempty"`   // aim
	Socket *metric.Socket                  `json:"socket,omitempty"`  // tune
	Grants map[uint32]metric.GrantedSocket `json:"grants,omitempty"`  // answer to tune, by the stream's id
	Close  []closing                       `json:"close,omitempty"`   // close; and its answer, for what the far end sent
	Grant  *Grant                          `json:"grant,omitempty"`   // answer to join
	Error  string                          `json:"error,omitempty"`   // refused
	Stats  *dialect.Stats                  `json:"stats,omitempty"`
}

// closing ends one stream.
type closing struct {
	ID   uint32 `json:"id"`
	Sent uint64 `json:"sent,omitempty"` // the sender's final count of datagrams
}

// StreamSpec asks for one stream.
type StreamSpec struct {
	ID    uint32        `json:"id"`
	Proto metric.Proto  `json:"proto"`
	Dir   metric.Dir    `json:"dir,omitempty"` // seen from the near end
	Size  int           `json:"size,omitempty"`
	Rate  int64         `json:"rate,omitempty"`
	Far   metric.Socket `json:"far,omitzero"`
	Calls metric.Calls  `json:"calls,omitzero"` // of the far end
}

// validate bounds what a peer may ask for.
func (s *StreamSpec) validate() error {
	if s == nil {
		return fmt.Errorf("no stream given")
	}
	if s.Proto == protoProbe {
		return nil
	}
	if s.Dir != metric.Out && s.Dir != metric.In {
		return fmt.Errorf("direction %q: out or in", s.Dir)
	}
	return metric.Spec{Proto: s.Proto, Mode: metric.ModeOut, Streams: 1, RateBps: s.Rate, Size: s.Size, Far: s.Far, FarCalls: s.Calls}.Validate()
}

// Grant is what the far kernel gave a stream.
type Grant struct {
	Size   int                  `json:"size,omitempty"`
	Socket metric.GrantedSocket `json:"socket,omitzero"`
}

// encode makes one line, its end included.
func (l *line) encode() ([]byte, error) {
	b, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("control line %s: %w", l.Type, err)
	}
	if len(b) >= maxLine {
		return nil, fmt.Errorf("control line %s: %d bytes, the bound is %d", l.Type, len(b), maxLine)
	}
	return append(b, '\n'), nil
}

// decode reads one line.
func decode(b []byte) (*line, error) {
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		return nil, fmt.Errorf("control line %.60q: %w", b, err)
	}
	if l.Type == "" || len(l.Close) > maxStreams {
		return nil, fmt.Errorf("control line %.60q: not one of ours", b)
	}
	// What is shown goes to a terminal.
	l.Error = dialect.Plain(l.Error)
	if l.Stats != nil {
		l.Stats.Broken = dialect.Plain(l.Stats.Broken)
	}
	if l.Grant != nil {
		l.Grant.Socket.Congestion = dialect.Plain(l.Grant.Socket.Congestion)
	}
	for id, g := range l.Grants {
		g.Congestion = dialect.Plain(g.Congestion)
		l.Grants[id] = g
	}
	return &l, nil
}

// checkHello compares the peer's hello with ours.
func (l *line) checkHello() error {
	switch {
	case l.Type != typeHello || l.Proto != dialectName:
		return fmt.Errorf("the peer does not speak the ethtune dialect")
	case l.V != Version:
		return fmt.Errorf("the peer speaks version %d of the ethtune dialect, this is version %d: use the same ethtune on both ends", l.V, Version)
	}
	return nil
}

func (l *line) token() (t token, err error) {
	b, err := hex.DecodeString(l.Token)
	if err != nil || len(b) != tokenSize {
		return t, fmt.Errorf("hello without a token")
	}
	return token(b), nil
}
