// Package flow is the hot path: the sockets that carry load and probe, and the threads that keep them busy.
//
// Every stream has one raw blocking socket and one locked OS thread. A thread counts in its own variables and publishes
// once a batch; nothing on its way allocates. Whoever wants the numbers reads them from another goroutine with Tx, Rx or
// [Ledger.Read]. A stream is ended by Close, which shuts the socket down, waits for the thread, and only then closes the
// descriptor, so no call ever reaches a descriptor that has become someone else's.
//
// Two clocks are used: schedules and intervals are of CLOCK_MONOTONIC, stamps in packets are of CLOCK_REALTIME, because
// that is the clock of the kernel's receive stamps. Times are in nanoseconds, rates in bit/s of payload.
package flow
