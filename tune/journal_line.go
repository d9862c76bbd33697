package tune

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ethtune/ethtune/tune/knob"
)

// op says what a line tells.
type op string

const (
	opTurn op = "turn" // about to write: any of the knobs may move from First
	opHeld op = "held" // the session moved the knobs from First to Got, and answers for First
	opKept op = "kept" // the knobs are to stay at Got; First is what they were before
	opFree op = "free" // the session no longer answers for the knobs
)

// reading is what a knob had: its value, and the request beside it where the kernel keeps one that differs.
type reading struct {
	Value  string `json:"value"`
	Wanted string `json:"wanted,omitempty"`
	// Loose is an original that was found while what others had turned stood at the same place: the request is sure, and
	// the value may have been their doing.
	Loose bool `json:"loose,omitempty"`
}

func readingOf(s knob.State) reading { return reading{Value: s.Value, Wanted: s.Wanted} }

// back reports whether a knob that is now so has what the original says.
func (r reading) back(now knob.State) bool {
	return same(r.state(now.Knob), now) || r.Loose && r.request() == requested(now)
}

// state is the reading as a state of the knob.
func (r reading) state(name string) knob.State {
	return knob.State{Knob: name, Value: r.Value, Wanted: r.Wanted}
}

// item is what a line says of one knob.
type item struct {
	Knob  string  `json:"knob"`
	First reading `json:"first,omitzero"`
	Got   reading `json:"got,omitzero"`
}

// line is one line of the journal. It can be understood without the others as far as possible, so that one that is
// damaged takes nothing else with it.
type line struct {
	Op op `json:"op"`
	// Of says how many lines a book that was compacted has, each of which is written twice; 0 = a line as it came. It
	// stands first, for it must be seen in a line that is cut off.
	Of      int       `json:"of,omitempty"`
	Session string    `json:"session"`
	PID     int       `json:"pid"` // for people: it may be another's by now
	At      time.Time `json:"at"`  // in UTC and whole seconds
	Turn    int       `json:"turn,omitempty"`
	Where   Where     `json:"where"`
	Asked   string    `json:"asked,omitempty"` // of a turn, for people
	Kind    Kind      `json:"kind,omitempty"`  // of a free
	Knobs   []item    `json:"knobs,omitempty"`
}

const (
	// lineHead starts every line and can be nowhere inside one, since JSON escapes the quotes in a string.
	lineHead = `{"crc":"`
	lineMid  = `","line":`
	// lineOf is how the part of a line up to Of ends, where it has one.
	lineOf = `,"of":`
	// maxLine bounds a line in bytes. A device with all its features takes about 6000.
	maxLine = 64 << 10
	// maxItems bounds the knobs of a line. The kernel has 64 feature bits, and the catalogue some 180 knobs.
	maxItems = 512
	// maxReading bounds a value in bytes, as knob.Domain does.
	maxReading = 256
	sessionLen = 16 // hexadecimal digits
	// maxOf bounds the lines of a compacted book, as the bytes of the journal do.
	maxOf = maxJournal / 100
)

// castagnoli finds every error of up to three bits, and every burst of up to 32, in a line of this length.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode is the line with its checksum and the newline.
func (l line) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil {
		return nil, err
	}
	raw := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	out := fmt.Appendf(nil, lineHead+"%08x"+lineMid+"%s}\n", crc32.Checksum(raw, castagnoli), raw)
	if len(out) > maxLine {
		return nil, fmt.Errorf("a line of %d bytes, more than %d", len(out), maxLine)
	}
	return out, nil
}

// decodeLine understands exactly what encode writes, less the newline. The error says in a few words what is wrong.
func decodeLine(text []byte) (line, error) {
	if len(text) >= maxLine {
		return line{}, errors.New("too long")
	}
	rest, ok := bytes.CutPrefix(text, []byte(lineHead))
	if !ok || len(rest) < 8 {
		return line{}, errors.New("not a line of a journal")
	}
	sum, err := strconv.ParseUint(string(rest[:8]), 16, 32)
	raw, ok := bytes.CutPrefix(rest[8:], []byte(lineMid))
	if err != nil || !ok || !bytes.HasSuffix(raw, []byte("}")) {
		return line{}, errors.New("cut off or overwritten")
	}
	raw = raw[:len(raw)-1]
	if crc32.Checksum(raw, castagnoli) != uint32(sum) {
		return line{}, errors.New("its checksum is wrong")
	}
	var l line
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return line{}, errors.New("not understood")
	}
	if !l.valid() {
		return line{}, errors.New("says what is never written")
	}
	// Written again it must be the same: nothing after the object, no field twice, none in another spelling.
	if again, err := l.encode(); err != nil || !bytes.Equal(bytes.TrimSuffix(again, []byte("\n")), text) {
		return line{}, errors.New("not in the form it is written in")
	}
	return l, nil
}

func (l line) valid() bool {
	if len(l.Session) != sessionLen || strings.Trim(l.Session, "0123456789abcdef") != "" || l.PID < 0 || l.Turn < 0 ||
		l.Of < 0 || l.Of > maxOf {
		return false
	}
	if len(l.Knobs) > maxItems || !l.Where.valid() || (l.Asked != "" && !printable(l.Asked, 2*maxReading)) {
		return false
	}
	for _, it := range l.Knobs {
		if !it.valid(l.Op, l.Where) {
			return false
		}
	}
	switch l.Op {
	case opTurn:
		return l.Kind == "" && l.Turn > 0
	case opHeld, opKept:
		return l.Kind == "" && l.Asked == ""
	case opFree:
		return (l.Kind == KindSession || l.Kind == KindKept) && l.Asked == "" && l.Turn == 0 && l.Of == 0
	}
	return false
}

// valid wants a single knob with a name of ours, at the place that such a knob belongs to, and values that can be shown.
// Whether a value may be written is asked again when it is: kernels hold values that nobody may ask them for.
func (it item) valid(o op, w Where) bool {
	k, err := knob.Resolve(it.Knob)
	if err != nil || k.Name != it.Knob || len(k.Members) > 0 || w.scope(it.Knob) != w {
		return false
	}
	first := it.First.valid()
	got := it.Got.valid()
	switch o {
	case opTurn:
		return first && it.Got == reading{}
	case opFree:
		return it.First == reading{} && it.Got == reading{}
	}
	return first && got && !it.Got.Loose
}

func (r reading) valid() bool {
	return r.Value != "" && printable(r.Value, maxReading) && printable(r.Wanted, maxReading)
}

// printable reports whether text is at most that many bytes of letters that do not disturb a line.
func printable(text string, most int) bool {
	return len(text) <= most && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) })
}
