// Package tune turns knobs: the [Tuner] is the only writer of kernel settings in the program.
//
// What it holds to: the value is checked before anything is written; after every write, also one that failed, the whole
// family is read again, because kernels drop, adjust and cascade; the outcome is what was read and never what was asked
// or what the write returned; and everything that moved is remembered as it was first found, so that [Tuner.Undo] can put
// it back.
//
// A [Family] is a set of knobs that are read and written together. Those of an interface come from [Kernel]; those of the
// traffic are given by who runs it.
package tune
