// Package pane is the regions of the screen: each keeps what it shows, draws it into a rectangle of the grid, and answers
// an [Action] with an [Intent].
//
// A pane cannot act. It never sees a Rig, starts nothing and knows no clock: records and times are given to it, and what
// a key should do leaves it as an Intent for the root model to carry out. So every pane is tested without a terminal,
// without traffic and without waiting.
//
// The rows of all panes share one grammar: "name near far lamp state" for a thing that can be turned, "mark what number
// lamp word" for what a turn did. Colour lights traces and lamps; words stay in the terminal's own ink.
package pane
