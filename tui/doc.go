// Package tui is the eyes and hands: it draws a Bench in a terminal and turns its knobs.
//
// The root model only routes. A record of the feed goes to the panes, which keep what they show; a key goes to the pane
// that has the focus, which answers with an Intent; an Intent becomes a command that talks to the Bench, and its answer
// comes back as a message. A key never waits for the network, and drawing never waits for a key.
//
//	feed  -> recordsMsg -> panes           (10 times a second, nothing is drawn)
//	clock -> tickMsg    -> one grid        (4 times a second, or less on a slow line)
//	key   -> Action -> pane -> Intent -> tea.Cmd -> Bench -> turnedMsg -> panes -> one grid
//	clock -> dueMsg -> tea.Cmd -> Bench -> rereadMsg -> panes           (every 5 s, never under a turn)
//
// On q, what would outlive the run is asked for: to be kept, or put back when the Bench is closed.
//
// A server has a screen of its own: a root model that only routes as well, with the panes of its guests and an Intent that
// ends a session. It shares the terminal, the feed, the clock and the key map.
//
// The whole screen is one grid of cells. Where each pane paints is a pure function of the terminal's size.
package tui
