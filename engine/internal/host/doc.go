// Package host reads what the kernel says about the machine that carries the traffic: how busy it is, and what it
// dropped between a device and the stack. Reading and parsing are two functions; the files stay open and are read again
// from their beginning. Where a file is not there, its number is absent.
package host

// Root is where the kernel's files are; tests have their own.
const Root = "/"

// maxFile bounds what is read of one file: /proc/stat of a machine with 1000 processors is below 512 KiB, most of it the
// line of interrupts, which is behind what is needed.
const maxFile = 256 << 10
