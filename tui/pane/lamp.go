package pane

import "github.com/ethtune/ethtune/tui/chart"

// Lamp is one sign in one colour that says how a thing stands. Without colour its sign, and the word beside it, say the
// same.
type Lamp uint8

// The lamps.
const (
	Dark     Lamp = iota // as found
	Live                 // running
	Better               // a turn that helped
	Worse                // a turn that hurt
	Pending              // asked, no answer yet
	Adjusted             // not what was asked, or not asked for
	Failed               // refused or lost
)

// look is the sign of l and its style.
func (l Lamp) look() (string, chart.Style) {
	switch l {
	case Live:
		return "●", chart.Trace
	case Better:
		return "●", chart.Good
	case Worse, Adjusted:
		return "!", chart.Warn | chart.Bold
	case Pending:
		return "~", chart.Warn | chart.Bold
	case Failed:
		return "!", chart.Bad | chart.Bold
	}
	return " ", chart.Ink
}
