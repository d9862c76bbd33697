package iperf3

import "fmt"

// state is a byte on the control connection: what the receiver shall do now (iperf_api.h of iperf3).
type state byte

const (
	testStart       state = 1  // server: prepare
	testRunning     state = 2  // server: traffic flows
	testEnd         state = 4  // client: it is over
	paramExchange   state = 9  // server: send the parameters
	createStreams   state = 10 // server: open the streams
	serverTerminate state = 11 // server: it gives up
	clientTerminate state = 12 // client: it gives up
	exchangeResults state = 13 // server: send the results, then read mine
	displayResults  state = 14 // server: that was all
	iperfDone       state = 16 // client: goodbye
	serverError     state = 0xfe
	accessDenied    state = 0xff
)

// What a server says of itself in an error: iperf3's i_errno (iperf_api.h of iperf3).
const (
	ieDuration   = 5
	ieStreams    = 6
	ieBufSize    = 8
	ieMSS        = 9
	ieBlockSize  = 20
	ieUnimp      = 13
	ieMessage    = 110
	ieParams     = 114
	ieNewStreams = 115
	ieResults    = 117
	ieBuffer     = 141
	ieNoData     = 144
	ieExpired    = 160
)

// errnoWords says what an i_errno means to the person whose test it ended.
var errnoWords = map[int]string{
	ieDuration:   "the duration is out of its range",
	ieStreams:    "the number of streams is out of its range",
	ieBufSize:    "the socket buffer size is out of its range",
	ieMSS:        "the maximum segment size is out of its range",
	ieBlockSize:  "the block or datagram size is out of its range",
	ieUnimp:      "it does not know the protocol",
	27:           "the total rate is over its --server-bitrate-limit",
	37:           "the test may take longer than its --server-max-duration",
	ieMessage:    "it does not understand what it was told",
	ieParams:     "it cannot read the parameters",
	ieNewStreams: "it cannot open the streams",
	ieResults:    "it cannot read the results",
	121:          "it is busy with another test",
	ieBuffer:     "its kernel does not grant the socket buffer size; see net.core.rmem_max and wmem_max there",
	142:          "it asks for a user name and a password",
	ieNoData:     "no data arrived there for too long",
	ieExpired:    "the test took longer than it had announced",
	208:          "it does not know a stream of the results",
}

// peerError is what a server sends with SERVER_ERROR.
type peerError struct {
	code  int // i_errno
	errno int // its kernel's, 0 where there is none
}

func (e *peerError) Error() string {
	words, ok := errnoWords[e.code]
	if !ok {
		words = "it reports an error"
	}
	s := fmt.Sprintf("the iperf3 server ends the test: %s (i_errno %d", words, e.code)
	if e.errno != 0 {
		s += fmt.Sprintf(", errno %d", e.errno)
	}
	return s + ")"
}
