// Package native is our own dialect: one control connection, and load that can be re-aimed while it runs.
//
// The near end dials. Everything uses one port number. The control connection carries bounded JSON lines: a hello with
// the version, then numbered requests (open, join, start, aim, close), each answered by done or refused, and stats
// from the far end ten times a second. A load connection begins with a [preamble] that carries the session's random
// token. A UDP stream begins with the same preamble as a datagram, repeated until the far end, which compares the
// token, has made its own socket for that peer; it answers on the control connection only, so nothing is ever sent to an
// address that did not prove itself.
//
// Streams are opened idle and then started together, so that a load can be replaced without both running at once.
package native
