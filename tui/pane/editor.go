package pane

import "strings"

// longest is how much can be typed into an editor, in characters.
const longest = 64

// editor is one line being typed. Its cursor is always at the end.
type editor struct {
	open  bool
	text  string
	wrong string // why the text was not taken, until the next key
}

func (e *editor) start(text string) { *e = editor{open: true, text: text} }

func (e *editor) stop() { *e = editor{} }

// press takes a key by its name, and the text it stands for where it is a character.
func (e *editor) press(name, typed string) {
	e.wrong = ""
	switch name {
	case "backspace":
		if r := []rune(e.text); len(r) > 0 {
			e.text = string(r[:len(r)-1])
		}
	case "ctrl+u":
		e.text = ""
	default:
		for _, r := range typed {
			if r >= ' ' && r < 0x7f && len(e.text) < longest {
				e.text += string(r)
			}
		}
	}
}

// typed is the text without the blanks around it.
func (e *editor) typed() string { return strings.TrimSpace(e.text) }
