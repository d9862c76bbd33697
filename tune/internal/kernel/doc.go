// Package kernel is the back end that reads and writes settings of the kernel: it says what a knob is in terms of
// engine/nic, and nothing about whether it should be turned.
//
// A [Device] is one family: all knobs of one interface. Feature bits and the MTU are read together because drivers couple
// them: r8169, for one, drops TSO and checksums above a size (rtl8169_fix_features). [Params] are its coalescing and its
// rings. [Sysctls] are those of the machine as a whole, or of one network namespace.
package kernel
