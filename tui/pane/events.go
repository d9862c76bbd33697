package pane

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/trial"
)

// keepEvents is how many events are kept, more than anybody scrolls through; older ones leave.
const keepEvents = 500

// EventList is the pane of what happened: each turn with what it did, and what happened to the traffic by itself.
type EventList struct {
	events []event // oldest first
	now    float64 // time of the newest Frame, seconds since traffic flowed
	newest int     // the greatest number of a mark
	chosen int     // the selected event, counted from the newest; it stays on its event
	top    int     // first line in view
	page   int     // lines in view when last drawn

	suspected []string // what Frames were suspect of, without its figures
}

// event is a turn or a note.
type event struct {
	turn *turned // nil for a note
	note metric.Note
}

// NewEventList returns an empty list.
func NewEventList() *EventList { return &EventList{page: 1} }

// Add takes a record of the feed.
func (e *EventList) Add(rec metric.Record) {
	switch r := rec.(type) {
	case *metric.Frame:
		e.now = max(e.now, r.T)
		e.suspect(r)
	case *metric.Note:
		e.push(event{note: *r})
	case *metric.Mark:
		e.newest = max(e.newest, r.N)
		if t := e.turn(r.N); t != nil {
			t.mark = *r
		} else {
			e.push(event{turn: &turned{mark: *r, verdicts: make(map[string]*trial.Verdict)}})
		}
	case *trial.Verdict:
		e.take(r)
	}
}

// keepSuspicions bounds how many kinds of them are told; there are a few.
const keepSuspicions = 16

// suspect tells of each suspicion once, whatever its figures: they change with every second that it lasts.
func (e *EventList) suspect(f *metric.Frame) {
	if f.Suspect == "" {
		return
	}
	kind := string(f.Dir) + strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return -1
		}
		return r
	}, f.Suspect)
	if len(e.suspected) == keepSuspicions || slices.Contains(e.suspected, kind) {
		return
	}
	e.suspected = append(e.suspected, kind)
	e.push(event{note: metric.Note{T: f.T, Time: f.Time, Text: "suspect: " + f.Suspect}})
}

func (e *EventList) push(ev event) {
	e.events = append(e.events, ev)
	if len(e.events) > keepEvents {
		e.events = slices.Delete(e.events, 0, len(e.events)-keepEvents)
	}
	if e.chosen > 0 {
		e.chosen = min(e.chosen+1, len(e.events)-1)
	}
}

// turn finds a mark by its number.
func (e *EventList) turn(n int) *turned {
	for i := len(e.events) - 1; i >= 0; i-- {
		if t := e.events[i].turn; t != nil && t.mark.N == n {
			return t
		}
	}
	return nil
}

// take files a verdict under its mark, and remembers which marks it speaks for.
func (e *EventList) take(v *trial.Verdict) {
	if t := e.turn(v.Mark); t != nil {
		t.verdicts[v.Metric] = v
	}
	for _, n := range v.With {
		if t := e.turn(n); t != nil {
			t.with = v.Mark
		}
	}
}

// Do carries out an action.
func (e *EventList) Do(a Action) Intent {
	switch a {
	case RowUp:
		e.move(-1)
	case RowDown:
		e.move(+1)
	case PageUp:
		e.move(-e.page)
	case PageDown:
		e.move(+e.page)
	case First, Back:
		e.chosen = 0
	case Last:
		e.move(len(e.events))
	}
	return nil
}

func (e *EventList) move(by int) { e.chosen = min(max(e.chosen+by, 0), max(len(e.events)-1, 0)) }

// Help is the line about the selected event.
func (e *EventList) Help() []Span {
	if len(e.events) == 0 {
		return nil
	}
	ev := e.events[len(e.events)-1-e.chosen]
	if ev.turn == nil {
		return []Span{{clock(ev.note.Time) + " ", 0}, {ev.note.Text, 0}}
	}
	return ev.turn.reading("")
}

// Reading is the line about the turn of mark n, for the cursor in the charts; nil where it is not kept any more.
func (e *EventList) Reading(n int) []Span {
	if t := e.turn(n); t != nil {
		return t.reading("at ")
	}
	return nil
}

// more are the lines under a turn: what else it moved, and what the kernel said.
func (t *turned) more() []string {
	var out []string
	m := &t.mark
	if text := alsoText(m.Also); text != "" {
		out = append(out, text)
	}
	switch knob.Outcome(m.Outcome) {
	case knob.Adjusted, knob.Partial:
		out = append(out, withReason("got "+Value(m.Knob, m.Got), m.Reason))
	case knob.Refused:
		if m.Reason != "" {
			out = append(out, m.Reason)
		}
	}
	return out
}

func withReason(text, reason string) string {
	if reason == "" {
		return text
	}
	return text + ": " + reason
}

// alsoText tells side effects in one line, those of the same value together: "also tso, sg off".
func alsoText(also []metric.Also) string {
	var parts []string
	for i := 0; i < len(also); {
		var names []string
		value := also[i].To
		for ; i < len(also) && also[i].To == value; i++ {
			names = append(names, knob.Short(also[i].Knob))
		}
		parts = append(parts, strings.Join(names, ", ")+" "+Value(also[i-1].Knob, value))
	}
	if len(parts) == 0 {
		return ""
	}
	return "also " + strings.Join(parts, "; ")
}

// clock is a time of day as lists show it.
func clock(t time.Time) string { return t.Format("15:04:05") }

// reading is a turn in one line: when, and before and after of each metric.
func (t *turned) reading(prefix string) []Span {
	m := &t.mark
	out := []Span{{fmt.Sprintf("%s%d ", prefix, m.N), 0}, {clock(m.Time) + "  ", 0}}
	v := t.verdicts[trial.Bandwidth]
	if v == nil {
		e := t.effect(trial.Bandwidth, m.T)
		word := e.forms[0]
		if strings.HasPrefix(word, "measuring") {
			word = "measuring"
		}
		return append(out, Span{Setting(m.Side, m.Knob, m.Asked) + "  " + word, 0})
	}
	out = append(out, Span{change(rateUnits, v.Before, v.After), 0})
	if j := t.verdicts[trial.Jitter]; j != nil && !(j.Before.IsZero() && j.After.IsZero()) {
		out = append(out, Span{"  jitter " + change(timeUnits, micro(j.Before), micro(j.After)), 0})
	}
	if l := t.verdicts[trial.Loss]; l != nil && !(l.Before.IsZero() && l.After.IsZero()) {
		out = append(out, Span{"  loss " + lossChange(l.Before, l.After), 0})
	}
	return out
}

// micro turns milliseconds into microseconds.
func micro(ms metric.Num) metric.Num {
	if v, ok := ms.Get(); ok {
		return metric.N(v * 1000)
	}
	return ms
}
