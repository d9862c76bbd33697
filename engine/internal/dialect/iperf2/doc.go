// Package iperf2 speaks with iperf 2 as it is installed everywhere: `iperf -s`, `iperf -s -u` and their clients.
//
// There is no control connection. A TCP test is a connection, a UDP test is datagrams from one port to another, and what
// is wanted stands in a [header] at the head of both. All numbers are big endian. Of what the far end received only UDP
// is known, and only at the end: a last datagram with a negative number asks for a [report]. A [Client] therefore ends
// and begins its UDP streams anew every [Options.Segment], without a pause, and has a report of each. What comes in is
// measured here, over TCP and UDP alike.
//
// A stock server has to be handled with care. It answers a TCP reset with no numbers, so a sender sees its bytes off. A
// UDP stream that begins right after the last one of the same host has ended makes it crash, so the next begins before the
// last ends, or half a second later. Streams that begin at the same moment get into each other's socket, so they begin one
// after the other. Asked to send datagrams larger than the 1470 bytes it has room for it crashes, and asked to send over
// UDP it cannot be stopped before its time.
//
// A [Server] has as many guests at once as its house takes. It does not do what a client asks by a single datagram, which
// proves no address: UDP -R and UDP --full-duplex. Nor does it connect back (-d, -r). Of all of these it receives what
// comes, and gives the refusal as the reason when the guest leaves. To no address it sends more over UDP than came from it.
//
// What an iperf 2 end can do differs by version: 2.0 knows no -R and --full-duplex, has its first datagram number 0
// instead of 1, and up to 2.0.9 its reports lie four bytes earlier.
package iperf2
