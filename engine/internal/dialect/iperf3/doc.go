// Package iperf3 is the room for the protocol of iperf3: a [Client] that drives load against a stock `iperf3 -s`, and a
// [Server] that answers stock clients, as many at once as the house lets in.
//
// A test of iperf3 is a control connection on which one byte names the state that both ends go to, JSON is framed by its
// length, and every number is told once, at the end. Nothing but the sender's own rate can change while a test runs, so the
// Client changes anything else by ending the test and beginning the next, a millisecond or two later, and gets the far
// end's loss and jitter of UDP by doing so every second.
//
// What the peers are: everything from iperf3 3.1 on. Where versions differ the Client says what all of them understand and
// reads numbers in any of their forms.
package iperf3
