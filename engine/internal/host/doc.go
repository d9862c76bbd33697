// Package host reads what the kernel says about the machine that carries the traffic: what its processors do, what it took
// from its devices and dropped, what passed the traffic's interface, and what its protocols had to give up.
//
// A [Sampler] reads the shares of all processors together, softnet and the interface's counters at every tick. Everything
// else it reads once a second, beside the ticks: because it is dear, because a second is the least that says something
// about shares counted in hundredths of a second, or because the kernel answers under the rtnetlink lock, which is held
// while a driver brings its hardware to another setting, just when no tick may be missed.
//
// Reading and parsing are two functions; the files stay open and are read again from their beginning. Where a file is not
// there, its numbers are absent.
package host

// Root is where the kernel's files are; tests have their own.
const Root = "/"

// maxFile bounds what is read of one file: /proc/stat of a machine with 1000 processors is below 512 KiB, most of it the
// line of interrupts, which is behind what is needed.
const maxFile = 256 << 10
