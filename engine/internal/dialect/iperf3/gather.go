package iperf3

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// gather asks for the streams and waits for all of them. They come back in the order in which the client opened them.
func (ss *session) gather() ([]arrival, error) {
	n := cap(ss.arrivals)
	leave, err := ss.attend()
	if err != nil {
		return nil, err
	}
	defer leave()
	ss.asked.Store(true)
	if err := ss.ctl.say(createStreams); err != nil {
		return nil, err
	}
	late := time.NewTimer(greeting)
	defer late.Stop()
	var got []arrival
	for len(got) < n {
		var err error
		select {
		case a := <-ss.arrivals:
			got = append(got, a)
			late.Reset(greeting)
		case err = <-ss.failed:
		case why := <-ss.kicks:
			err = kicked(why)
		case w := <-ss.words:
			err = early(w)
		case <-late.C:
			err = fmt.Errorf("%d of %d streams came, then none for %v", len(got), n, greeting)
		}
		if err != nil {
			drop(got)
			return nil, err
		}
	}
	slices.SortStableFunc(got, func(a, b arrival) int { return cmp.Compare(a.order, b.order) })
	return got, nil
}

// attend lets streams find the session until leave is called. Of UDP it first waits for its turn.
func (ss *session) attend() (leave func(), err error) {
	if ss.p.UDP {
		ss.s.queue(ss)
		select {
		case <-ss.first:
			return func() { ss.s.unqueue(ss) }, nil
		case why := <-ss.kicks:
			err = kicked(why)
		case w := <-ss.words:
			err = early(w)
		}
		ss.s.unqueue(ss)
		return nil, err
	}
	ss.s.mu.Lock()
	defer ss.s.mu.Unlock()
	ss.s.arriving[ss.cookie] = ss
	return func() {
		ss.s.mu.Lock()
		defer ss.s.mu.Unlock()
		delete(ss.s.arriving, ss.cookie)
	}, nil
}

// errClientGone is the end of a control connection before all was said.
var errClientGone = errors.New("the client closed the control connection")

// early is what a word means that comes before its time.
func early(w word) error {
	switch {
	case errors.Is(w.err, io.EOF):
		return errClientGone
	case w.err != nil:
		return w.err
	}
	return &refused{ieMessage, fmt.Sprintf("the client said state %d before its time", w.state)}
}

// drop closes sockets that became no streams.
func drop(got []arrival) {
	for _, a := range got {
		_ = unix.Close(a.fd)
	}
}

// adopt makes idle streams of the sockets.
func (ss *session) adopt(got []arrival, dirs []metric.Dir) error {
	c := config{
		proto: ss.p.proto(), size: int(ss.p.Len), header: ss.p.header(), rate: ss.p.rate(ss.s.house.Rules.RateBps),
	}
	if c.proto == metric.TCP {
		// A longer write is the same to the client, and 128 streams of a megabyte are not the same to this end.
		c.size = min(c.size, flow.DefaultTCPSize)
	}
	for i, a := range got {
		err := ss.configure(a.fd)
		var s *stream
		if err == nil {
			s, err = newStream(&ss.load, a.fd, uint32(i+1), streamID(i), dirs[i] == metric.In, c)
		}
		if err != nil {
			drop(got[i:])
			return err
		}
		ss.streams = append(ss.streams, s)
	}
	return nil
}

// configure sets on a stream's socket what the client asks for, and sees to it that it was granted. A UDP socket was made
// with it.
func (ss *session) configure(fd int) error {
	if ss.p.proto() == metric.TCP {
		if err := flow.ConfigureTCP(fd, ss.p.socket()); err != nil {
			return err
		}
		if ss.p.Congestion != "" {
			// As in iperf3: where this kernel does not have it the test goes on, and congestion_used says with what.
			_ = flow.ConfigureTCP(fd, metric.Socket{Congestion: ss.p.Congestion})
		}
	}
	g, err := flow.Granted(fd, ss.p.proto())
	if err != nil {
		return err
	}
	ss.congestion = g.Congestion
	if w := int(ss.p.Window); g.SndBuf < w || g.RcvBuf < w {
		return &refused{ieBuffer, fmt.Sprintf("socket buffers of %d bytes were asked for, the kernel gives %d and %d", w, g.SndBuf, g.RcvBuf)}
	}
	return nil
}

// close lets go of all that the session has.
func (ss *session) close() {
	ss.mu.Lock()
	ss.left = 0
	close(ss.arrivals)
	for a := range ss.arrivals {
		_ = unix.Close(a.fd)
	}
	ss.mu.Unlock()
	ss.guest.Look()
	ss.load.Close()
	var wg sync.WaitGroup
	for _, s := range ss.streams {
		wg.Go(s.letGo)
	}
	wg.Wait()
}
