// Package tune turns knobs: the [Tuner] is the only writer of kernel settings in the program.
//
// What it holds to: the value is checked before anything is written; after every write, also one that failed, the whole
// family is read again, because kernels drop, adjust and cascade; the outcome is what was read and never what was asked
// or what the write returned; and everything that moved is remembered as it was first found, so that [Tuner.Undo] can put
// it back.
//
// What outlives the process is written down first: a Tuner from [NewJournaled] has every original in the [Journal], and on
// the disk, before the kernel is touched, so that whoever comes after a crash can put it back with [Journal.Restore]. All
// sessions of a host share the journal. A knob has one original, the value before the first of those who still hold it, and
// the last of them to end puts it back; a value that is kept becomes what the others go back to.
// A value that is none of theirs any more is somebody else's: it is left, and that is told.
//
// A [Family] is a set of knobs that are read and written together. Those of an interface come from [Kernel]; those of the
// traffic are given by who runs it.
package tune
