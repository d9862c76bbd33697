package pane

import (
	"slices"
	"strings"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/trial"
)

// KnobList is the pane of the knobs: what the kernel has at both ends, and what became of the turns.
type KnobList struct {
	rows    []*row // as in the tree
	flat    []*row // the same without headings
	tree    bool   // whether the tree was drawn last
	stories map[string]*story
	effects map[int]*trial.Verdict // bandwidth's, by mark

	chosen  string    // name of the selected row: the selection stays on its thing, not on its place
	side    knob.Side // the end that keys turn
	changed bool      // show only what changed
	find    editor    // the filter
	edit    editor    // a value for the chosen knob
	three   vectorEditor
	top     int // first line in view
	page    int // rows in view when last drawn
}

// NewKnobList returns an empty list that turns the near end.
func NewKnobList() *KnobList {
	return &KnobList{stories: make(map[string]*story), effects: make(map[int]*trial.Verdict), side: knob.Near, page: 1}
}

// SetStates takes a whole reading of the knobs, which the list owns from then on.
func (k *KnobList) SetStates(states []knob.State) {
	k.rows = rowsOf(states, k.stories)
	slices.SortFunc(k.rows, inTree)
	k.flat = slices.Clone(k.rows)
	slices.SortFunc(k.flat, inList)
	if k.row() == nil && len(k.rows) > 0 {
		k.chosen = k.rows[0].name
	}
}

// State is what was last read of one knob, nil where it was not.
func (k *KnobList) State(side knob.Side, name string) *knob.State {
	for _, r := range k.rows {
		if r.name == name {
			return r.at(side)
		}
	}
	return nil
}

// Asked shows the settings of plan as pending. The value shown stays the kernel's.
func (k *KnobList) Asked(plan knob.Plan) {
	for _, s := range plan {
		k.story(s.Knob).asked = &s
	}
}

// Add takes a record of the feed.
func (k *KnobList) Add(rec metric.Record) {
	switch r := rec.(type) {
	case *metric.Mark:
		k.mark(r)
	case *trial.Verdict:
		if r.Metric == trial.Bandwidth {
			k.effects[r.Mark] = r
		}
	}
}

func (k *KnobList) mark(m *metric.Mark) {
	s := k.story(m.Knob)
	if m.Outcome == metric.Pending {
		s.asked = &knob.Setting{Side: knob.Side(m.Side), Knob: m.Knob, Value: m.Asked}
		return
	}
	s.asked, s.other = nil, nil
	if m.Outcome != string(knob.Unchanged) || s.last.N == 0 && m.Got != m.From {
		s.last = *m
	}
	if st := k.State(knob.Side(m.Side), m.Knob); st != nil {
		st.Value = m.Got
	}
	if m.Got != m.From {
		for _, name := range k.relatives(m.Knob) {
			rel := k.story(name)
			rel.last, rel.other = *m, nil
		}
	}
	for _, a := range m.Also {
		if a.Knob != m.Knob {
			beside := k.story(a.Knob)
			beside.beside, beside.other = m.N, nil
		}
		if st := k.State(knob.Side(m.Side), a.Knob); st != nil {
			st.Value = a.To
		}
	}
}

// relatives are the members of a group, or the groups of a member, that are in the list: they turn with it.
func (k *KnobList) relatives(name string) []string {
	members := knob.Members(name)
	var out []string
	for _, r := range k.rows {
		if slices.Contains(members, r.name) || slices.Contains(knob.Members(r.name), name) {
			out = append(out, r.name)
		}
	}
	return out
}

func (k *KnobList) story(name string) *story {
	s := k.stories[name]
	if s == nil {
		s = &story{}
		k.stories[name] = s
		for _, r := range k.rows {
			if r.name == name {
				r.story = s
			}
		}
	}
	return s
}

// shown are the rows that the filter leaves.
func (k *KnobList) shown() []*row {
	all := k.flat
	if k.tree {
		all = k.rows
	}
	word := strings.ToLower(k.find.typed())
	if word == "" && !k.changed {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(r *row) bool {
		return (k.changed && !r.changed()) ||
			!(strings.Contains(r.name, word) || strings.Contains(knob.Short(r.name), word))
	})
}

// row is the selected row, nil where there is none.
func (k *KnobList) row() *row {
	for _, r := range k.shown() {
		if r.name == k.chosen {
			return r
		}
	}
	return nil
}

// Typing reports whether keys are text now, and not actions.
func (k *KnobList) Typing() bool { return k.edit.open || k.three.open || k.find.open }

// Type takes a key while [KnobList.Typing].
func (k *KnobList) Type(name, typed string) Intent {
	if k.find.open {
		k.typeFilter(name, typed)
		return nil
	}
	switch {
	case name == "esc":
		k.stopEdit()
	case name == "enter":
		return k.takeEdit()
	case k.three.open:
		k.three.press(knob.DomainOf(k.chosen), name, typed)
	default:
		k.edit.press(name, typed)
	}
	return nil
}

func (k *KnobList) stopEdit() {
	k.edit.stop()
	k.three.stop()
}

func (k *KnobList) typeFilter(name, typed string) {
	switch name {
	case "esc":
		k.find.stop()
	case "enter":
		k.find.open = false
	default:
		k.find.press(name, typed)
	}
	k.keepChosen()
}

// keepChosen moves the selection to the first row if its own is not in view any more.
func (k *KnobList) keepChosen() {
	if rows := k.shown(); k.row() == nil && len(rows) > 0 {
		k.chosen = rows[0].name
	}
}

func (k *KnobList) takeEdit() Intent {
	r := k.row()
	if r == nil {
		k.stopEdit()
		return nil
	}
	typed, wrong := k.edit.typed(), &k.edit.wrong
	if k.three.open {
		typed, wrong = k.three.typed(), &k.three.wrong
	}
	value, err := knob.DomainOf(r.name).Typed(typed)
	if err != nil {
		*wrong = err.Error()
		return nil
	}
	k.stopEdit()
	return k.turn(r, value)
}

// Do carries out an action on the selected knob.
func (k *KnobList) Do(a Action) Intent {
	switch a {
	case RowUp:
		k.move(-1)
	case RowDown:
		k.move(+1)
	case PageUp:
		k.move(-k.page)
	case PageDown:
		k.move(+k.page)
	case First:
		k.move(-len(k.rows))
	case Last:
		k.move(+len(k.rows))
	case NearSide:
		k.side = knob.Near
	case FarSide:
		k.side = knob.Far
	case ChangedOnly:
		k.changed = !k.changed
		k.keepChosen()
	case Filter:
		k.find.start("")
	case Back:
		k.changed = false
		k.find.stop()
	case TurnNext, StepUp, StepDown, EditValue:
		return k.act(a)
	}
	return nil
}

func (k *KnobList) move(by int) {
	rows := k.shown()
	i := slices.IndexFunc(rows, func(r *row) bool { return r.name == k.chosen })
	if len(rows) > 0 {
		k.chosen = rows[min(max(i+by, 0), len(rows)-1)].name
	}
}

// act turns the selected knob or says why it cannot be.
func (k *KnobList) act(a Action) Intent {
	r := k.row()
	if r == nil {
		return Say{Text: "No knob is selected."}
	}
	st := r.at(k.side)
	switch {
	case st == nil:
		return Say{Text: "There is no " + knob.Short(r.name) + " at the " + string(k.side) + " end."}
	case st.Fixed != "":
		return Say{Text: knob.Short(r.name) + " cannot be turned here: " + st.Fixed + "."}
	}
	if ok, why := knob.Settable(r.name); !ok {
		return Say{Text: knob.Short(r.name) + " " + why + "."}
	}
	now := r.story.expected(*st)
	if a == EditValue {
		if knob.DomainOf(r.name).Kind == knob.Vector {
			k.three.start(now.Value)
		} else {
			k.edit.start("")
		}
		return nil
	}
	value, err := nextValue(now, a)
	if err != nil {
		return Say{Text: err.Error() + "."}
	}
	return k.turn(r, value)
}

func nextValue(s knob.State, a Action) (string, error) {
	switch a {
	case StepUp:
		return step(s, +1)
	case StepDown:
		return step(s, -1)
	}
	return next(s)
}

func (k *KnobList) turn(r *row, value string) Intent {
	return Turn{Plan: knob.Plan{{Side: k.sideOf(r), Knob: r.name, Value: value}}}
}

// sideOf is the side that keys turn of r: the host has what belongs to the whole of it.
func (k *KnobList) sideOf(r *row) knob.Side {
	if r.host != nil {
		return knob.Host
	}
	return k.side
}
