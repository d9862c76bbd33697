package pane

import (
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
)

// A suspicion is told once, though its figures change with every second; another kind is another line.
func TestSuspicionsAreToldOnce(t *testing.T) {
	e := NewEventList()
	for _, text := range []string{
		"", "the interface counted 12 % less than arrived", "the interface counted 9 % less than arrived", "",
		"the interface counted 31 % less than arrived", "more arrived than the link's 1000 Mbit/s can carry",
	} {
		e.Add(&metric.Frame{T: 1, Dir: metric.Out, Suspect: text})
	}
	if len(e.events) != 2 {
		t.Fatalf("%d lines", len(e.events))
	}
	if got := e.events[0].note.Text; got != "suspect: the interface counted 12 % less than arrived" {
		t.Errorf("told %q", got)
	}
	for i := range 100 {
		e.Add(&metric.Frame{T: 2, Suspect: string(rune('a' + i))})
	}
	if len(e.suspected) > keepSuspicions {
		t.Errorf("%d kinds are kept", len(e.suspected))
	}
}
