package pane

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ethtune/ethtune/tune/knob"
)

const rmem = "sysctl.net.ipv4.tcp_rmem"

func vectorList() *KnobList {
	k := NewKnobList()
	k.SetStates([]knob.State{
		{Knob: rmem, Side: knob.Near, Value: "4096 131072 6291456"}, {Knob: rmem, Side: knob.Far, Value: "4096 131072 6291456"},
	})
	return k
}

// keys types into a list as the terminal would say it.
func keys(k *KnobList, names ...string) (last Intent) {
	for _, name := range names {
		text := name
		switch {
		case name == "space":
			text = " "
		case len(name) > 1:
			text = ""
		}
		last = k.Type(name, text)
	}
	return last
}

func TestVectorEditor(t *testing.T) {
	for _, tt := range []struct {
		name  string
		keys  string
		want  string // what is asked for; empty = the editor stays open
		wrong string
	}{
		{"as it was", "enter", "4096 131072 6291456", ""},
		{"typing replaces the field", "1 6 M enter", "4096 131072 16777216", ""},
		{"backspace empties a field just entered", "backspace 8 M enter", "4096 131072 8388608", ""},
		{"backspace takes one letter of what was typed", "1 6 7 backspace M enter", "4096 131072 16777216", ""},
		{"the field left of it", "left 6 4 K enter", "4096 65536 6291456", ""},
		{"after the last comes the first", "tab 8 K enter", "8192 131072 6291456", ""},
		{"before the first comes the last", "left left left 8 M enter", "4096 131072 8388608", ""},
		{"shift+tab", "shift+tab shift+tab 1 enter", "1 131072 6291456", ""},
		{"a blank leads on", "tab 1 space 2 space 3 enter", "1 2 3", ""},
		{"doubled", "+ = enter", "4096 131072 25165824", ""},
		{"halved", "left - - enter", "4096 32768 6291456", ""},
		{"stepping what was typed", "1 M + enter", "4096 131072 2097152", ""},
		{"typing after a step starts anew", "- 8 M enter", "4096 131072 8388608", ""},
		{"too small", "4 k enter", "", "MIN <= DEFAULT <= MAX"},
		{"no number", "4 x enter", "", "4x"},
		{"stepping no number", "4 x +", "", "4x"},
		{"empty", "ctrl+u enter", "", "three numbers"},
		{"beyond reason", "9 9 9 9 9 9 9 9 9 9 9 enter", "", "99999999999"},
		{"wrong until the next key", "4 k enter backspace", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := vectorList()
			k.Do(EditValue)
			in := keys(k, strings.Fields(tt.keys)...)
			if tt.want != "" {
				if d := cmp.Diff(turn(knob.Near, rmem, tt.want), in); d != "" || k.Typing() {
					t.Errorf("typing on: %v\n%s", k.Typing(), d)
				}
				return
			}
			if in != nil || !k.Typing() || !strings.Contains(k.three.wrong, tt.wrong) || (tt.wrong == "") != (k.three.wrong == "") {
				t.Errorf("intent %v, typing %v, wrong %q", in, k.Typing(), k.three.wrong)
			}
		})
	}
}

// Nothing is asked for when the editor is left, and a vector can be pasted whole.
func TestVectorEditorPasteAndLeave(t *testing.T) {
	k := vectorList()
	k.Do(EditValue)
	if in := keys(k, "1", "esc"); in != nil || k.Typing() {
		t.Errorf("esc gave %v", in)
	}
	k.Do(FarSide)
	k.Do(EditValue)
	keys(k, "tab")
	k.Type("", "4096,8192 \x1b16384\n"+strings.Repeat("9", 5000))
	if n := len(k.three.texts[2]); n > longestField {
		t.Errorf("%d letters in one field", n)
	}
	keys(k, "ctrl+u", "1", "6", "K")
	if d := cmp.Diff(turn(knob.Far, rmem, "4096 8192 16384"), keys(k, "enter")); d != "" {
		t.Error(d)
	}
}

// In the list the greatest is turned, and never below the default.
func TestVectorSteps(t *testing.T) {
	for _, tt := range []struct {
		value string
		do    Action
		want  Intent
	}{
		{"4096 131072 6291456", StepUp, turn(knob.Near, rmem, "4096 131072 12582912")},
		{"4096 131072 6291456", TurnNext, turn(knob.Near, rmem, "4096 131072 12582912")},
		{"4096 131072 6291456", StepDown, turn(knob.Near, rmem, "4096 131072 3145728")},
		{"4096 131072 200000", StepDown, turn(knob.Near, rmem, "4096 131072 131072")},
		{"4096 131072 131072", StepDown, Say{Text: "tcp_rmem goes no further than 128 Ki here."}},
		{"4096 131072 2147483647", StepUp, Say{Text: "tcp_rmem goes no further than 2147483647 here."}},
		{"4096", StepUp, Say{Text: `tcp_rmem is "4096", which has no next step; enter takes a value.`}},
	} {
		k := NewKnobList()
		k.SetStates([]knob.State{{Knob: rmem, Side: knob.Near, Value: tt.value}})
		if d := cmp.Diff(tt.want, k.Do(tt.do)); d != "" {
			t.Errorf("%s:\n%s", tt.value, d)
		}
	}
}
