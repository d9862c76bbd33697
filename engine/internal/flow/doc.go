// Package flow is the hot path: the sockets that carry load and probe, and the threads that keep them busy.
//
// Every load stream has one raw blocking socket and one locked OS thread. A thread counts in its own variables and
// publishes once a batch; nothing on its way allocates. Whoever wants the numbers reads them from another goroutine with
// Tx, Rx or [Ledger.Read]. A stream is ended by Close, which asks the thread to end, waits for it, and only then closes the
// descriptor, so no call ever reaches a descriptor that has become someone else's.
//
// A traffic thread says no word of its system calls to the Go scheduler. Told of calls that wait, the runtime's monitor
// takes their P away and then gets up every 20 us for some milliseconds (runtime, sysmon and retake); with hundreds of such
// calls a second that is a tenth of a core. The price is that a garbage collection waits for the thread, so every call is
// short: it copies a megabyte at most, waits for no more than a tick of the kernel, and the signal by which the scheduler
// asks for the thread ends the wait at once.
//
// A UDP stream makes its calls in one of several modes, chosen by what is asked of it or else by its rate: a datagram a
// call, a batch a call, or trains of datagrams that pass the stack as one (UDP_SEGMENT and UDP_GRO). Only trains change
// what is possible, tenfold and more; they arrive as bursts, so they are for rates that nothing else reaches. A paced
// stream sends what is due on an absolute schedule, and what is to be done is given to a running stream as a whole, with a
// number that its datagrams carry, so that the far end sees when a change arrives.
//
// A TCP sender hands over its bytes in one of several ways, see way; all but the first spare the copy, so what they carry
// is not what an application would see. Paced, it keeps the mean by a schedule of its own and has the kernel smooth it, see
// allowance. A thread can be placed on processors while it runs, by any goroutine, see place.
//
// The probe is some hundred datagrams a second and has no thread: its ends are goroutines that wait in Go's poller. That
// they run late costs no accuracy, because arrivals are stamped by the kernel, departures right before the call, and the
// time spent in the far end is taken out.
//
// Two clocks are used: schedules and intervals are of CLOCK_MONOTONIC, stamps in packets are of CLOCK_REALTIME, because
// that is the clock of the kernel's receive stamps. Times are in nanoseconds, rates in bit/s of payload.
package flow
