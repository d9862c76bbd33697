package pane

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ethtune/ethtune/tui/chart"
	"github.com/ethtune/ethtune/tune/knob"
)

// Columns of the knob list, counted from the left edge of its rectangle. Values end in theirs.
const (
	knobName  = 2
	knobNear  = 15
	knobFar   = 23
	knobLamp  = 25
	knobState = 27

	// KnobWidth is what the list takes with all its columns.
	KnobWidth = 45
	// nameRoom is what a wide list adds to its names: with it most are whole.
	nameRoom = 6
	// KnobWideWidth is what a list takes whose names have that.
	KnobWideWidth = KnobWidth + nameRoom
	// headings are drawn from this many rows on.
	headingRows = 16
	// effectRoom is the width of the column that a list without an event pane beside it has for the effects.
	effectRoom = 12
)

// Draw paints the list. focus says whether keys come here; effects adds what the last turn of each knob did to the
// bandwidth, where no other pane shows it.
func (k *KnobList) Draw(b Brush, r Rect, focus, effects bool) {
	if r.Empty() {
		return
	}
	effects = effects && r.W >= KnobWidth+effectRoom
	shift := 0
	if spare := r.W - KnobWidth; spare >= nameRoom && !effects || spare >= nameRoom+effectRoom {
		shift = nameRoom
	}
	k.drawHead(b, r, shift, effects)
	body := Rect{r.X, r.Y + 1, r.W, r.H - 1}
	k.page = max(body.H, 1)
	k.tree = body.H >= headingRows
	lines := k.lines()
	at := slices.IndexFunc(lines, func(l line) bool { return l.row != nil && l.row.name == k.chosen })
	from := at
	if at > 0 && lines[at-1].row == nil {
		from-- // its heading
	}
	k.top = scrolled(k.top, from, at, len(lines), body.H)
	for i := range min(body.H, len(lines)-k.top) {
		l := lines[k.top+i]
		if l.row == nil {
			b.Text(r.X, body.Y+i, r.W, l.head, chart.Faint)
			continue
		}
		k.drawRow(b, body.Row(i), shift, l.row, focus, effects)
	}
	if len(lines) == 0 && body.H > 0 {
		b.Text(r.X+knobName, body.Y, r.W-knobName, k.emptyText(), chart.Faint)
	}
}

func (k *KnobList) emptyText() string {
	if len(k.rows) == 0 {
		return "reading the knobs"
	}
	return "none; esc shows all"
}

// line is a heading or a row.
type line struct {
	head string
	row  *row
}

func (k *KnobList) lines() []line {
	var out []line
	head := ""
	for _, r := range k.shown() {
		if k.tree && r.head != head {
			head = r.head
			out = append(out, line{head: head})
		}
		out = append(out, line{row: r})
	}
	return out
}

// scrolled is the first line in view: as little away from top as shows the lines from to to.
func scrolled(top, from, to, n, height int) int {
	if from >= 0 {
		top = max(min(top, from), to-height+1)
	}
	return max(0, min(top, n-height))
}

// drawHead paints the heads of the columns. All but the names are shift further right than at the design size.
func (k *KnobList) drawHead(b Brush, r Rect, shift int, effects bool) {
	b.Text(r.X, r.Y, r.W, "knobs", chart.Bold)
	x := r.X + shift
	b.Ending(x+knobNear, r.Y, "near", k.sideStyle(knob.Near))
	b.Ending(x+knobFar, r.Y, "far", k.sideStyle(knob.Far))
	b.Text(x+knobState, r.Y, r.W-shift-knobState, k.stateHead(), chart.Faint)
	if effects {
		b.Ending(r.Right(), r.Y, "bandwidth", chart.Faint)
	}
}

// stateHead heads the states, or says which of the knobs are shown.
func (k *KnobList) stateHead() string {
	switch word := k.find.typed(); {
	case word != "" && k.changed:
		return "only " + word + ", changed"
	case word != "":
		return "only " + word
	case k.changed:
		return "only changed"
	}
	return "state"
}

func (k *KnobList) sideStyle(s knob.Side) chart.Style {
	if s == k.side {
		return chart.Ink
	}
	return chart.Faint
}

func (k *KnobList) drawRow(b Brush, r Rect, shift int, row *row, focus, effects bool) {
	lamp, words, st := row.state()
	ink := chart.Ink
	if row.fixed() != "" {
		ink = chart.Faint
	}
	nearState, farState := row.columns()
	near, far := valueOf(nearState, row.name), valueOf(farState, row.name)
	x := r.X + shift
	room := knobNear + shift - b.Width(near) - knobName
	b.Text(r.X+knobName, r.Y, room, nameIn(knob.Short(row.name), room), ink)
	b.Ending(x+knobNear, r.Y, near, ink)
	b.Ending(x+knobFar, r.Y, far, ink)
	b.Lamp(x+knobLamp, r.Y, lamp)
	b.Text(x+knobState, r.Y, r.W-shift-knobState, words, st)
	if v := k.lastEffect(row); effects && v != "" {
		b.Ending(r.Right(), r.Y, v, chart.Ink)
	}
	if row.name != k.chosen {
		return
	}
	b.Text(r.X, r.Y, 1, "▸", ink)
	if focus {
		b.Grid.Restyle(r.X, r.Y, r.W, chart.Reverse)
	}
}

// abbreviated keeps the long names of feature bits apart in a column that cuts them; the help line has them whole.
var abbreviated = strings.NewReplacer("segmentation", "seg", "checksum", "csum", "offload", "ofl", "forwarding", "fwd",
	"default", "def")

// nameIn is a name as it is drawn in that many cells: abbreviated only where it has to be.
func nameIn(name string, room int) string {
	if len(name) <= room {
		return name
	}
	return abbreviated.Replace(name)
}

// valueRoom is the width of a value in its column.
const valueRoom = 7

func valueOf(s *knob.State, name string) string {
	if s == nil {
		return none
	}
	text := Value(name, s.Value)
	if len([]rune(text)) > valueRoom {
		return cut(text, valueRoom-1) + "…" // a number that loses its last digits unseen is another number
	}
	return text
}

func (k *KnobList) lastEffect(r *row) string {
	if r.story == nil {
		return ""
	}
	v := k.effects[r.story.last.N]
	if v == nil {
		return ""
	}
	return effectOf(v).alone()[0]
}

// Brief is the selected knob in one short line, for a screen that has no room for a list: "tso on".
func (k *KnobList) Brief() string {
	r := k.row()
	if r == nil {
		return ""
	}
	st := r.at(k.side)
	if st == nil {
		return knob.Short(r.name) + " " + none
	}
	return Setting(string(k.sideOf(r)), r.name, st.Value)
}

// DrawBrief paints the one row that is left on a small screen.
func (k *KnobList) DrawBrief(b Brush, r Rect) {
	row := k.row()
	if r.Empty() || row == nil {
		return
	}
	x := b.Text(r.X, r.Y, r.W, "▸ "+k.Brief(), chart.Ink)
	lamp, words, st := row.state()
	effect := k.lastEffect(row)
	if effect != "" && r.W-(x-r.X) > b.Width(effect)+1 {
		b.Ending(r.Right(), r.Y, effect, chart.Ink)
	} else {
		effect = ""
	}
	room := r.X + r.W - (x + 4)
	if effect != "" {
		room -= b.Width(effect) + 1
		if story := row.story; room < b.Width(words) && lamp == Dark && story.last.N > 0 {
			words = fmt.Sprint(story.last.N) // the mark's number says where on the axis
		}
	}
	b.Lamp(x+2, r.Y, lamp)
	b.Text(x+4, r.Y, room, words, st)
}
