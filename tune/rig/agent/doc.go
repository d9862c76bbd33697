// Package agent is a Rig in this process ([Local]), and the stream that makes it one of another process or host: [Serve]
// answers on a stream for a Rig, [Dial] is a Rig at the other end of one.
//
// The stream is bounded JSON lines, the same records as "ethtune run --json":
//
//	hello     agent -> front end, first line: protocol, version, facts
//	fatal     agent -> front end, in place of hello: why it could not start
//	ask       front end -> agent: id, method, args
//	answer    agent -> front end: id, result or error
//	interval, note ...   agent -> front end, as measured
//	beat      both ways, each second
//
// Five seconds without a line is a lost stream. An agent that loses its stream undoes what it changed, and ends.
package agent
