package pane

import "slices"

// Focus is a set of panes. Keys go to one of them.
type Focus uint8

// The panes that can have the focus.
const (
	Charts Focus = 1 << iota
	Knobs
	Events
	Guests // of a server, whose screen has nothing else to choose from

	Anywhere   = Charts | Knobs | Events
	EachScreen = Anywhere | Guests
)

// String is the pane's name as its head shows it.
func (f Focus) String() string {
	switch f {
	case Charts:
		return "charts"
	case Knobs:
		return "knobs"
	case Events:
		return "events"
	case Guests:
		return "clients"
	}
	return "all panes"
}

// Action is what a key does.
type Action uint8

// The actions.
const (
	NoAction Action = iota

	TurnNext // on or off, or the next value
	StepDown
	StepUp
	EditValue
	NearSide
	FarSide
	UndoLast
	ChangedOnly
	Filter

	EndSession

	RowUp
	RowDown
	PageUp
	PageDown
	First
	Last

	MarkBack
	MarkOn
	ToNow
	TimeIn
	TimeOut

	NextPane
	LastPane
	ToCharts
	ToKnobs
	ToEvents
	Freeze

	NextGlyphs
	Redraw
	ShowHelp
	Back
	QuitNow // asks nothing
	Quit
)

// Press is one key, by the name the terminal library gives it, and what it does.
type Press struct {
	Name   string
	Action Action
}

// Key is one row of the key map: keys that belong together. The hint bar and the help are made from it and from nothing
// else.
type Key struct {
	Where Focus
	Shown string // how the keys are written
	Hint  string // the word in the hint bar; empty = not there
	Help  string // what the keys do
	Topic string // the heading in the help
	Stays bool   // never dropped from the hint bar
	Press []Press
}

// Keys is the key map, in the order of the hint bar and of the help.
var Keys = []Key{
	{Charts, "left right", "next mark", "walk the marks", "Look", false,
		[]Press{{"left", MarkBack}, {"right", MarkOn}, {"h", MarkBack}, {"l", MarkOn}}},
	{Charts, "= -", "time", "time in / out", "Look", false, []Press{{"=", TimeIn}, {"+", TimeIn}, {"-", TimeOut}}},
	{Charts, "end", "now", "back to now", "Look", false, []Press{{"end", ToNow}}},
	{Knobs, "space", "turn", "on / off, next value", "Turn", false, []Press{{"space", TurnNext}}},
	{Knobs, "enter", "edit", "edit, type a value", "Turn", false, []Press{{"enter", EditValue}}},
	{Anywhere, "u", "undo", "undo the last change", "Turn", false, []Press{{"u", UndoLast}}},
	{Anywhere, "tab", "pane", "next pane, shift+tab back", "Look", false, []Press{{"tab", NextPane}, {"shift+tab", LastPane}}},
	{Knobs, "- +", "step", "one step down / up", "Turn", false, []Press{{"-", StepDown}, {"+", StepUp}, {"=", StepUp}}},
	{Knobs, "n f", "", "turn the near / far side", "Turn", false, []Press{{"n", NearSide}, {"f", FarSide}}},
	{Knobs | Events, "up down", "", "row up / down, also k j", "Find", false,
		[]Press{{"up", RowUp}, {"down", RowDown}, {"k", RowUp}, {"j", RowDown}}},
	{Knobs | Events, "pgup pgdown", "", "a page up / down", "Find", false, []Press{{"pgup", PageUp}, {"pgdown", PageDown}}},
	{Knobs | Events, "home end", "", "first / last row", "Find", false, []Press{{"home", First}, {"end", Last}}},
	{Guests, "up down", "choose", "choose a client", "Clients", false, []Press{{"up", RowUp}, {"down", RowDown}}},
	{Guests, "k", "end session", "end its session, asks", "Clients", true, []Press{{"k", EndSession}}},
	{Guests, "pgup pgdown", "", "a page up / down", "Clients", false, []Press{{"pgup", PageUp}, {"pgdown", PageDown}}},
	{Guests, "home end", "", "first / last client", "Clients", false, []Press{{"home", First}, {"end", Last}}},
	{Knobs, "/", "", "filter by name", "Find", false, []Press{{"/", Filter}}},
	{Knobs, "c", "", "changed only", "Find", false, []Press{{"c", ChangedOnly}}},
	{Anywhere, "1 2 3", "", "charts knobs events", "Look", false, []Press{{"1", ToCharts}, {"2", ToKnobs}, {"3", ToEvents}}},
	{EachScreen, "p", "freeze", "freeze, keeps measuring", "Look", false, []Press{{"p", Freeze}}},
	{EachScreen, "g", "", "braille, block, ASCII", "Screen", false, []Press{{"g", NextGlyphs}}},
	{EachScreen, "ctrl+l", "", "redraw, ask size again", "Screen", false, []Press{{"ctrl+l", Redraw}}},
	{EachScreen, "esc", "", "back, close", "Screen", false, []Press{{"esc", Back}}},
	{EachScreen, "?", "help", "this help", "Screen", true, []Press{{"?", ShowHelp}}},
	{Anywhere, "ctrl+c", "", "put all back, quit", "Screen", false, []Press{{"ctrl+c", QuitNow}}},
	{Anywhere, "q", "quit", "quit, asks what to keep", "Screen", true, []Press{{"q", Quit}}},
	{Guests, "ctrl+c", "", "end all sessions, quit", "Screen", false, []Press{{"ctrl+c", QuitNow}}},
	{Guests, "q", "quit", "quit, asks if any is here", "Screen", true, []Press{{"q", Quit}}},
}

// ActionOf is what the key of that name does in the pane f.
func ActionOf(f Focus, name string) Action {
	for _, k := range Keys {
		if k.Where&f == 0 {
			continue
		}
		if i := slices.IndexFunc(k.Press, func(p Press) bool { return p.Name == name }); i >= 0 {
			return k.Press[i].Action
		}
	}
	return NoAction
}
