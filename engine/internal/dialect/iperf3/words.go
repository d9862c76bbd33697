package iperf3

import (
	"errors"
	"fmt"
	"io"
)

// Why the other end of a control connection ends a test.
var (
	errServerTerminate = errors.New("the iperf3 server was stopped")
	errClientTerminate = errors.New("the client was stopped")
	errDenied          = errors.New("the iperf3 server is busy with another test")
)

// word is what came on a control connection: a state, a frame behind it, or the end.
type word struct {
	state state
	frame []byte
	err   error
}

// script is what one end may hear once traffic flows, in this order: a state, the results, and a last state.
type script struct {
	framed state // results follow it
	last   state
	limit  int // bytes of results
}

var (
	clientHears = script{framed: exchangeResults, last: displayResults, limit: maxServerResults}
	serverHears = script{framed: testEnd, last: iperfDone, limit: maxClientResults}
)

// maxWords is how many words there can be: the script's three and an error.
const maxWords = 4

// hear reads by the script until its last state or an error, and then closes words, which holds [maxWords]: it never
// waits for who reads them.
func (s script) hear(r io.Reader, words chan<- word) {
	defer close(words)
	framed := false
	for {
		st, err := readState(r)
		switch {
		case err != nil:
		case st == accessDenied:
			err = errDenied
		case st == serverTerminate:
			err = errServerTerminate
		case st == clientTerminate:
			err = errClientTerminate
		case st == s.framed && !framed:
			framed = true
			words <- word{state: st}
			var frame []byte
			if frame, err = readFrame(r, s.limit); err == nil {
				words <- word{frame: frame}
			}
		case st == s.last && framed:
			words <- word{state: st}
			return
		default:
			err = &refused{ieMessage, fmt.Sprintf("an unexpected state %d on the control connection", st)}
		}
		if err != nil {
			words <- word{err: err}
			return
		}
	}
}
