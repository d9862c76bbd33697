// Package kerneltest is a kernel for tests: one interface whose features cascade as the real ones do, and which can be
// told to refuse, to stall, to fail half way, and to lie.
package kerneltest
