package iperf3

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
)

// arrival is a stream's socket, connected.
type arrival struct {
	fd    int
	order int // of its connection; TCP
}

// session is one test of one client at the server.
type session struct {
	s      *Server
	ctl    *control
	cookie cookie
	peer   netip.AddrPort // the client's
	local  netip.AddrPort // that it dialled
	p      *params
	load   flow.Ledger
	guest  *dialect.Guest // once it was let in

	first    chan struct{} // UDP: closed when its turn to open streams has come
	asked    atomic.Bool   // CREATE_STREAMS was said
	arrivals chan arrival
	failed   chan error  // a stream could not be made
	kicks    chan string // why the house ends it
	words    chan word

	mu   sync.Mutex
	left int // streams that are still awaited

	streams    []*stream
	used       cpu
	begun      int64 // CLOCK_MONOTONIC ns from which on it counts
	seconds    float64
	congestion string // in use
}

func newSession(s *Server, conn *net.TCPConn, ck cookie) *session {
	l := conn.LocalAddr().(*net.TCPAddr).AddrPort()
	return &session{
		s: s, ctl: &control{conn: conn}, cookie: ck,
		peer: peerOf(conn), local: netip.AddrPortFrom(l.Addr().Unmap(), l.Port()),
		first: make(chan struct{}), failed: make(chan error, 1), kicks: make(chan string, 1),
		words: make(chan word, maxWords),
	}
}

// kick ends the session for the reason. It does not wait.
func (ss *session) kick(reason string) {
	select {
	case ss.kicks <- reason:
	default:
	}
}

// fail ends a session whose streams cannot be made.
func (ss *session) fail(err error) {
	select {
	case ss.failed <- err:
	default:
	}
}

// serve goes through the test, to the end of its control connection.
func (ss *session) serve() {
	defer ss.ctl.leave()
	if ss.ctl.say(paramExchange) != nil {
		return
	}
	_ = ss.ctl.conn.SetReadDeadline(time.Now().Add(greeting))
	body, err := readFrame(ss.ctl.conn, maxParams)
	if err != nil {
		return // it only looked whether there is a server
	}
	_ = ss.ctl.conn.SetReadDeadline(time.Time{})
	ss.s.porch.Pass(ss.ctl.conn)
	if ss.p, err = parseParams(body); err != nil {
		_ = ss.ctl.sayError(ieParams)
		return
	}
	ss.guest = &dialect.Guest{Dialect: Name, Peer: ss.peer.String(), Load: &ss.load, Kick: ss.kick}
	if ss.s.house.Enter(ss.guest) != nil {
		_ = ss.ctl.say(accessDenied)
		return
	}
	ss.guest.Leave(ss.test())
}

// test goes through the states behind the parameters. It returns why it did not get through, in words.
func (ss *session) test() string {
	if err := ss.p.check(); err != nil {
		_ = ss.ctl.sayError(errCode(err))
		return err.Error()
	}
	dirs := ss.p.dirs()
	ss.guest.Describe(ss.p.proto(), ss.p.mode(), int(ss.p.Parallel))
	if !ss.s.seat(len(dirs)) {
		_ = ss.ctl.say(accessDenied)
		return fmt.Sprintf("the server has %d streams, its limit", maxThreads)
	}
	defer ss.s.unseat(len(dirs))
	ss.s.add(ss)
	defer ss.s.remove(ss)
	ss.arrivals, ss.left = make(chan arrival, len(dirs)), len(dirs)
	defer ss.close()

	go serverHears.hear(ss.ctl.conn, ss.words) // ends with the connection
	got, err := ss.gather()
	if err == nil {
		err = ss.adopt(got, dirs)
	}
	if err == nil {
		err = ss.run()
	}
	if err == nil {
		err = ss.exchange()
	}
	var k kicked
	switch {
	case err == nil:
		return ""
	case errors.As(err, &k):
		_ = ss.ctl.say(serverTerminate)
	case !errors.Is(err, errClientTerminate):
		_ = ss.ctl.sayError(errCode(err)) // where the client is gone it does not matter
	}
	return err.Error()
}

// kicked is the end of a session by the house, with its reason.
type kicked string

func (k kicked) Error() string { return string(k) }

func (s *Server) add(ss *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[ss] = struct{}{}
	if s.closed {
		ss.kick("the server was stopped")
	}
}

func (s *Server) remove(ss *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, ss)
}

// arrive takes in a stream that is waited for. One of UDP is answered before anybody may send on it: a client that hears data
// in the place of the answer gives up.
func (ss *session) arrive(a arrival) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.left == 0 {
		return false
	}
	ss.left--
	if ss.p.UDP {
		_, _ = unix.Write(a.fd, []byte(reply)) // a lost one is the client's to miss
	}
	ss.arrivals <- a
	return true
}
