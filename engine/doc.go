// Package engine keeps traffic flowing and measures it: an [Engine] drives load against a [Server], re-aims it while it
// runs, and puts a [metric.Frame] for every direction into a feed ten times a second.
//
// The numbers come from where they are true. What was sent is what the peer's TCP acknowledged or, for UDP, what the
// kernel took; what arrived is the receiving end's count over the receiving end's own clock, so a late report moves no
// rate. When a report does not come in time its numbers are absent, and the next one covers the whole time, which its span
// says: a mean of rates is always bytes over seconds of the clock that counted them.
package engine
