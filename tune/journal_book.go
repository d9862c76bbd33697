package tune

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ethtune/ethtune/tune/knob"
)

// spot is one knob at the place it belongs to.
type spot struct {
	where Where // without the name of the device
	knob  string
}

// holder is who wrote a line.
type holder struct {
	session string
	pid     int
	at      time.Time
}

// hold is a session that answers for a knob.
type hold struct {
	holder
	// turn is the number of a turn that may have moved the knob and whose end is not written: 0 = none.
	turn int
	// stale is a doubt that outlives the turn it came from: nobody has read the knob since.
	stale bool
	// maybe is a hold that is only for a doubt.
	maybe bool
}

// staleTurn is the number under which a stale doubt is written.
const staleTurn = 1 << 30

// keep is a value that is to stay.
type keep struct {
	holder
	first, got reading
}

// entry is what the journal knows of one knob. There is one original for everybody who holds it: the value before the
// first of them, or, where somebody kept a value meanwhile, that.
type entry struct {
	spot  spot
	dev   string  // how the device was called
	first reading // of the holds
	got   reading // what was last read after a turn; empty where no turn has come to its end
	asked string  // by the turn that wrote last
	holds []hold
	kept  *keep
}

// hold finds the session's, or nil.
func (e *entry) hold(session string) *hold {
	for i := range e.holds {
		if e.holds[i].session == session {
			return &e.holds[i]
		}
	}
	return nil
}

// doubtful reports whether a turn may have moved the knob without having told so.
func (e *entry) doubtful() bool {
	return slices.ContainsFunc(e.holds, hold.doubtful)
}

func (h hold) doubtful() bool { return h.turn > 0 || h.stale }

// flaw is a line that could not be understood.
type flaw struct {
	number int // of the line in the file, from 1
	text   []byte
	why    error
}

// book is the journal as it reads from its first line to its last.
type book struct {
	entries map[spot]*entry
	order   []*entry // as they came
	flaws   []flaw
	// torn is the length in bytes of an unfinished line at the end, which whoever was killed over it did not act on.
	torn int
	// bare is a torn line, the first of the file, of which too little is there to say what it was.
	bare bool
	// copies is how many lines of a compacted book were understood, and of how many it was.
	copies, of int
}

func newBook() *book { return &book{entries: make(map[spot]*entry)} }

// parseBook reads the text of a journal. A line that is not understood becomes a flaw; the others count all the same.
func parseBook(text []byte) *book {
	b := newBook()
	last := 0
	for n := 1; len(text) > 0; n++ {
		row, rest, whole := bytes.Cut(text, []byte("\n"))
		text = rest
		parts := splitHeads(row)
		for i, part := range parts {
			l, err := decodeLine(part)
			if err != nil && !whole && i == len(parts)-1 && unfinished(part) {
				b.tear(n, part)
				continue
			}
			if err != nil {
				b.flaws = append(b.flaws, flaw{number: n, text: part[:min(len(part), maxLine-1)], why: err})
				continue
			}
			b.add(l)
			if l.Of > 0 {
				b.copies, b.of = b.copies+1, max(b.of, l.Of)
			}
		}
		last = n
	}
	if b.copies < b.of && len(b.flaws) == 0 {
		b.flaws = append(b.flaws, flaw{number: last, text: []byte("cut off"), why: errCutOff})
	}
	return b
}

// errCutOff is a compacted book that was whole once, and is not any more.
var errCutOff = errors.New("what came after it is cut off")

// tear notes an unfinished line. One that was appended is no loss, and neither is one of a compacted book that is there
// already.
func (b *book) tear(number int, part []byte) {
	op := len(lineHead) + 8 + len(lineMid) + len(`{"op":"kept"`)
	seen := len(part) >= op+len(lineOf)
	copied := seen && bytes.HasPrefix(part[op:], []byte(lineOf))
	if copied && (b.of == 0 || b.copies < b.of) {
		b.flaws = append(b.flaws, flaw{number: number, text: part[:min(len(part), maxLine-1)], why: errCutOff})
		return
	}
	b.torn, b.bare = len(part), !seen && number == 1
}

// unfinished reports whether the part is the beginning of a line: not one that is whole but for another byte in the place
// of its newline.
func unfinished(part []byte) bool {
	_, err := decodeLine(part[:len(part)-1])
	return err != nil && bytes.HasPrefix(part, []byte(lineHead)[:min(len(part), len(lineHead))])
}

// splitHeads takes apart lines that lost the newline between them.
func splitHeads(row []byte) (parts [][]byte) {
	for len(row) > 0 {
		next := len(row)
		if i := bytes.Index(row[1:], []byte(lineHead)); i >= 0 {
			next = i + 1
		}
		parts = append(parts, row[:next])
		row = row[next:]
	}
	return parts
}

// damage says which lines are flaws, in one line, or nothing.
func (b *book) damage() error {
	switch {
	case len(b.flaws) == 0 && b.torn > 0 && b.bare:
		return fmt.Errorf("%w, and is the only one: what it was cannot be told", ErrTorn)
	case len(b.flaws) == 0 && b.torn > 0:
		return fmt.Errorf("%w, as after a kill or a crash; nothing is lost", ErrTorn)
	case len(b.flaws) == 0:
		return nil
	}
	var numbers []string
	for _, f := range b.flaws[:min(len(b.flaws), 8)] {
		numbers = append(numbers, strconv.Itoa(f.number))
	}
	if len(b.flaws) > 8 {
		numbers = append(numbers, "more")
	}
	return fmt.Errorf("%w: line %s: %w; what the others say counts", ErrDamaged, strings.Join(numbers, ", "), b.flaws[0].why)
}

// add lets the line have its effect. One of a compacted book adds to what is there and takes nothing away, so that it may
// come again, and after any other of them.
func (b *book) add(l line) {
	by := holder{l.Session, l.PID, l.At}
	for _, it := range l.Knobs {
		e := b.entry(l.Where, it.Knob)
		h := e.hold(l.Session)
		switch l.Op {
		case opTurn:
			if h == nil || l.Of == 0 {
				e.first, e.asked = it.First, l.Asked
			}
			if h == nil {
				e.holds = append(e.holds, hold{holder: by, maybe: true})
				h = &e.holds[len(e.holds)-1]
			}
			h.stale = h.stale || l.Turn == staleTurn || h.turn > 0 && h.turn != l.Turn
			if l.Turn != staleTurn {
				h.turn = l.Turn
			}
		case opHeld:
			e.first, e.got = it.First, it.Got
			if h == nil {
				e.holds = append(e.holds, hold{holder: by})
			} else if l.Of > 0 {
				h.maybe = false
			} else {
				h.turn, h.maybe, h.stale = 0, false, false
			}
		case opKept:
			e.kept = &keep{by, it.First, it.Got}
			if l.Of == 0 {
				e.drop(l.Session)
			}
			// Whoever else holds it goes back to what is kept now. In a compacted book they are told of later.
			if l.Of == 0 || len(e.holds) == 0 {
				e.first = it.Got
			}
			if l.Of == 0 || e.got == (reading{}) {
				e.got = it.Got
			}
			if it.First.Value == it.Got.Value && it.First.Wanted == it.Got.Wanted {
				e.kept = nil
			}
		case opFree:
			if l.Kind == KindKept {
				e.kept = nil
			} else {
				doubt := h != nil && h.doubtful()
				e.drop(l.Session)
				if doubt && len(e.holds) > 0 {
					e.holds[0].stale = true // what it may have done is there for the others
				}
			}
		}
		b.tidy(e)
	}
	if (l.Op == opHeld || l.Op == opKept) && l.Turn > 0 {
		b.endTurn(l)
	}
}

// endTurn takes away the doubt that the turn had put on knobs which it did not move.
func (b *book) endTurn(l line) {
	for _, e := range slices.Clone(b.order) {
		h := e.hold(l.Session)
		if h == nil || h.turn != l.Turn {
			continue
		}
		h.turn = 0
		if h.maybe && !h.stale {
			e.drop(l.Session)
			b.tidy(e)
		}
	}
}

func (e *entry) drop(session string) {
	e.holds = slices.DeleteFunc(e.holds, func(h hold) bool { return h.session == session })
}

// entry finds the knob's, or begins one.
func (b *book) entry(w Where, name string) *entry {
	at := spot{w.place(name), name}
	e := b.entries[at]
	if e == nil {
		e = &entry{spot: at}
		b.entries[at] = e
		b.order = append(b.order, e)
	}
	if w.Dev != "" {
		e.dev = w.Dev
	}
	return e
}

// tidy forgets an entry that nobody holds and nobody keeps.
func (b *book) tidy(e *entry) {
	if len(e.holds) > 0 || e.kept != nil {
		return
	}
	delete(b.entries, e.spot)
	b.order = slices.DeleteFunc(b.order, func(o *entry) bool { return o == e })
}

// where is the place of the entry with the name the device had.
func (e *entry) where() Where {
	w := e.spot.where
	w.Dev = e.dev
	return w
}

// lines tells the book again in as few lines as it takes, once.
func (b *book) lines() []line {
	var out []line
	at := make(map[string]int)
	put := func(o op, by holder, turn int, e *entry, it item) {
		w := e.where()
		id := fmt.Sprintf("%s %s %d %d %v", o, by.session, by.at.Unix(), turn, w)
		i, ok := at[id]
		if !ok || len(out[i].Knobs) == maxItems {
			i = len(out)
			at[id] = i
			out = append(out, line{Op: o, Session: by.session, PID: by.pid, At: by.at, Turn: turn, Where: w})
		}
		out[i].Knobs = append(out[i].Knobs, it)
	}
	// In this order, since one who keeps lets go, and what is held goes back to what is kept.
	for _, e := range b.order {
		if k := e.kept; k != nil {
			put(opKept, k.holder, 0, e, item{e.spot.knob, k.first, k.got})
		}
	}
	for _, e := range b.order {
		for _, h := range e.holds {
			if !h.maybe {
				put(opHeld, h.holder, 0, e, item{e.spot.knob, e.first, e.got})
			}
		}
	}
	for _, e := range b.order {
		for _, h := range e.holds {
			number := h.turn
			if h.stale {
				number = staleTurn
			}
			if number > 0 {
				put(opTurn, h.holder, number, e, item{Knob: e.spot.knob, First: e.first})
			}
		}
	}
	for i := range out {
		out[i].Of = len(out)
	}
	return out
}

// ours reports whether the knob stands as somebody in the journal left it. The request is what tells; the value may follow
// what others turn. While a turn is in doubt everything may be its doing.
func (e *entry) ours(now knob.State) bool {
	is := requested(now)
	return is == e.got.request() || is == e.first.request() || e.kept != nil && is == e.kept.got.request() || e.doubtful()
}
