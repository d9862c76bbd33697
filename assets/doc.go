// Package assets holds the documents that are built into the program: what is known about each knob.
//
// It imports nothing of ours and understands nothing of what it holds; the packages above parse it.
package assets
