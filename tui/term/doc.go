// Package term is what the terminal is and can take: the signs and colours it shows, its size and line speed ([Detect]),
// and how fast it may be drawn on without the line falling behind the keys ([Writer]).
//
// Nothing here asks the terminal: an answer may never come, or arrive in the shell after us. What is known comes from the
// environment and from the kernel.
package term
