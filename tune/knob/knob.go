package knob

// Side is the end of the bench that a knob belongs to.
type Side string

// The sides. Host is the kernel that both ends of a lab share.
const (
	Near Side = "near"
	Far  Side = "far"
	Host Side = "host"
)

// State is what the kernel says about one knob now.
type State struct {
	Knob   string   `json:"knob"`             // canonical name
	Side   Side     `json:"side,omitempty"`   // empty from a Rig that knows only itself; the Bench fills it in
	Value  string   `json:"value"`            // active value in canonical form; empty where the kernel has none
	Wanted string   `json:"wanted,omitempty"` // where the kernel keeps a request beside the active value and they differ
	Fixed  string   `json:"fixed,omitempty"`  // why it cannot be turned here, in a few words; empty = it can
	Offers []string `json:"offers,omitempty"` // the values the kernel lists, where it lists them
	Min    int64    `json:"min,omitempty"`    // of a number, as the kernel gives them; both 0 = not given
	Max    int64    `json:"max,omitempty"`
}

// Setting asks one knob for one value.
type Setting struct {
	Side  Side   `json:"side,omitempty"`
	Knob  string `json:"knob"`  // canonical name
	Value string `json:"value"` // canonical form
}

// Plan is settings to be made in this order.
type Plan []Setting

// Outcome is what a turn came to, decided by reading again and never by the write's return value.
type Outcome string

// The outcomes.
const (
	Applied   Outcome = "applied"   // the kernel has what was asked
	Adjusted  Outcome = "adjusted"  // it took another value
	Refused   Outcome = "refused"   // it kept the old one
	Partial   Outcome = "partial"   // some of a group moved, or a write that failed still changed something
	Unchanged Outcome = "unchanged" // it already had what was asked
)

// Change is a knob that moved.
type Change struct {
	Knob string `json:"knob"`
	From string `json:"from"`
	To   string `json:"to"`
}

// Result is what came of one Setting.
type Result struct {
	Setting
	Dev     string   `json:"dev,omitempty"` // the interface, where results of several are told together; empty for a sysctl
	From    string   `json:"from"`
	Got     string   `json:"got"` // read again after the write
	Outcome Outcome  `json:"outcome"`
	Also    []Change `json:"also,omitempty"`   // other knobs that moved with it
	Reason  string   `json:"reason,omitempty"` // the kernel's own words, or ours
	Denied  bool     `json:"denied,omitempty"` // it was refused for want of a right
	Undo    Plan     `json:"undo,omitempty"`   // what puts back everything this turn moved; empty if nothing did
}

// OK reports whether the kernel now has what was asked.
func (r Result) OK() bool { return r.Outcome == Applied || r.Outcome == Unchanged }
