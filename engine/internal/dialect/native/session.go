package native

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/internal/host"
	"github.com/ethtune/ethtune/engine/metric"
)

// session is the far end of one control connection.
type session struct {
	guest   *dialect.Guest
	proof   string                           // of the key, where one is asked for
	maxRate int64                            // bit/s of each stream that this end sends; 0 = any
	renew   func(gone <-chan struct{}) error // of the Server: what listens anew
	ctl     *control
	token   token
	ledger  flow.Ledger
	drops   *host.Softnet
	wg      sync.WaitGroup
	done    chan struct{}
	kicks   chan string // why the house ends it

	waiting atomic.Int32 // requests answered later
	telling sync.Mutex   // one reading at a time, so that they arrive in their order

	mu      sync.Mutex
	expects map[uint32]*expected
	open    map[uint32]StreamSpec // streams in the ledger
	probes  map[uint32]*flow.Reflector
	ended   string // why this end ended it
}

func newSession(ctl *control, maxRate int64) *session {
	s := &session{
		ctl:     ctl,
		maxRate: maxRate,
		done:    make(chan struct{}),
		expects: make(map[uint32]*expected),
		open:    make(map[uint32]StreamSpec),
		probes:  make(map[uint32]*flow.Reflector),
		kicks:   make(chan string, 1),
	}
	_, _ = rand.Read(s.token[:]) // documented never to fail
	s.guest = &dialect.Guest{Dialect: Name, Peer: ctl.conn.RemoteAddr().String(), Load: &s.ledger, Kick: s.kick}
	return s
}

// kick has the session end, and the near end told why. It does not wait.
func (s *session) kick(reason string) {
	select {
	case s.kicks <- reason:
	default:
	}
}

// over ends the session for the reason, the first of which counts.
func (s *session) over(reason string) {
	s.mu.Lock()
	if s.ended == "" {
		s.ended = reason
	}
	s.mu.Unlock()
	_ = s.ctl.conn.Close()
}

// serve answers until the control connection ends or falls silent, and returns why it did where that is not as it should.
func (s *session) serve() string {
	defer s.end()
	s.ctl.patient = silence
	s.drops = host.OpenSoftnet(host.Root)
	defer s.drops.Close()
	hello := &line{Type: typeHello, Proto: dialectName, V: Version, Token: hex.EncodeToString(s.token[:]), Proof: s.proof}
	if err := s.ctl.send(hello); err != nil {
		return err.Error()
	}
	s.wg.Go(s.report)
	started := false
	for {
		l, err := s.ctl.receive()
		if err != nil {
			return s.reason(err)
		}
		switch l.Type {
		case typeJoin:
			s.later(l, s.join)
		case typeClose:
			s.later(l, s.close)
		case typeOpen:
			s.answer(l, s.expect(l))
		case typeStart:
			if !started {
				s.tellStats() // where the first interval begins
				started = true
			}
			s.ledger.Start()
			s.answer(l, nil)
		case typeAim:
			s.answer(l, s.aim(l))
		case typeTune:
			s.later(l, s.tune)
		case typeRenew:
			s.later(l, func(*line) (*line, error) { return &line{}, s.renew(s.done) })
		}
	}
}

// reason is why a session ended whose control connection answers err; empty where the near end closed it.
func (s *session) reason(err error) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended != "":
		return s.ended
	case errors.Is(err, io.EOF):
		return ""
	}
	return err.Error()
}

func (s *session) answer(l *line, err error) {
	out := &line{Type: typeDone, N: l.N}
	if err != nil {
		out.Type, out.Error = typeRefused, err.Error()
	}
	s.reply(out)
}

// reply sends an answer. A connection that does not take it is over, and the reader sees that.
func (s *session) reply(l *line) {
	if err := s.ctl.send(l); err != nil {
		s.over(err.Error())
	}
}

// later answers a request that takes its time, while others are served. No more of them wait than there can be streams.
func (s *session) later(l *line, f func(*line) (*line, error)) {
	if s.waiting.Add(1) > maxStreams {
		s.waiting.Add(-1)
		s.answer(l, fmt.Errorf("more than %d requests at once", maxStreams))
		return
	}
	s.wg.Go(func() {
		defer s.waiting.Add(-1)
		out, err := f(l)
		if err != nil {
			s.answer(l, err)
			return
		}
		out.Type, out.N = typeDone, l.N
		s.reply(out)
	})
}

func (s *session) aim(l *line) error {
	spec := metric.DefaultSpec()
	spec.RateBps = l.Rate
	if l.Calls != nil {
		spec.FarCalls = *l.Calls
	}
	if err := spec.Validate(); err != nil {
		return err
	}
	if _, in, _ := s.load(); in > 0 {
		if err := s.slowEnough(l.Rate); err != nil {
			return err
		}
	}
	return s.ledger.Aim(l.Rate, spec.FarCalls)
}

// load counts the streams of either direction.
func (s *session) load() (out, in int, proto metric.Proto) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.open {
		proto = st.Proto
		if st.Dir == metric.In {
			in++
		} else {
			out++
		}
	}
	return out, in, proto
}

// describe keeps the server's list of guests up to date.
func (s *session) describe() {
	out, in, proto := s.load()
	if out+in == 0 {
		return // what it drove last says more
	}
	mode := metric.ModeOut
	switch {
	case out > 0 && in > 0:
		mode = metric.ModeBoth
	case in > 0:
		mode = metric.ModeIn
	}
	s.guest.Describe(proto, mode, max(out, in))
}

// isOpen says whether the stream is in the ledger. The caller holds mu.
func (s *session) isOpen(id uint32) bool {
	_, ok := s.open[id]
	return ok
}

// slowEnough checks a rate that this end is to send at against the server's rules.
func (s *session) slowEnough(bps int64) error {
	if s.maxRate > 0 && (bps == 0 || bps > s.maxRate) {
		return fmt.Errorf("the server sends no stream faster than %d bit/s: ask for less with -b", s.maxRate)
	}
	return nil
}

// tune gives every stream new socket options.
func (s *session) tune(l *line) (*line, error) {
	spec := metric.DefaultSpec()
	if l.Socket != nil {
		spec.Far = *l.Socket
	}
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	granted, err := s.ledger.Tune(spec.Far)
	return &line{Grants: granted}, err
}

// expect prepares for a stream.
func (s *session) expect(l *line) error {
	if err := l.Stream.validate(); err != nil {
		return err
	}
	if l.Stream.Dir == metric.In {
		if err := s.slowEnough(l.Stream.Rate); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := l.Stream.ID
	switch {
	case len(s.expects)+len(s.open)+len(s.probes) >= maxStreams:
		return fmt.Errorf("more than %d streams", maxStreams)
	case s.expects[id] != nil || s.isOpen(id) || s.probes[id] != nil:
		return fmt.Errorf("stream %d exists", id)
	}
	s.expects[id] = &expected{spec: *l.Stream, arrived: make(chan arrival, 1), gone: make(chan struct{})}
	return nil
}

// arrive brings an arrival to the stream that waits for it; what nobody waits for, and what comes twice, is let go.
func (s *session) arrive(id uint32, a arrival) {
	s.mu.Lock()
	e := s.expects[id]
	ok := false
	if e != nil && (a.fd >= 0) == (e.spec.Proto == metric.TCP) {
		select {
		case e.arrived <- a:
			ok = true
		default:
		}
	}
	s.mu.Unlock()
	if !ok && a.fd >= 0 {
		_ = unix.Close(a.fd)
	}
}

// join waits for the stream's arrival and makes it a stream.
func (s *session) join(l *line) (*line, error) {
	s.mu.Lock()
	e := s.expects[l.ID]
	s.mu.Unlock()
	if e == nil {
		return nil, fmt.Errorf("stream %d was not opened", l.ID)
	}
	timeout := time.NewTimer(joinTimeout)
	defer timeout.Stop()
	var a arrival
	var err error
	select {
	case a = <-e.arrived:
	case <-timeout.C:
		err = fmt.Errorf("nothing of %s stream %d arrived within %s", e.spec.Proto, l.ID, joinTimeout)
	case <-e.gone:
		err = errNotWanted(l.ID)
	case <-s.done:
		err = errOver
	}
	var g *Grant
	if err == nil {
		g, err = s.make(e.spec, a)
	}
	s.mu.Lock()
	if s.expects[l.ID] == e {
		delete(s.expects, l.ID)
	}
	s.mu.Unlock()
	e.drop()
	if err != nil {
		return nil, err
	}
	s.describe()
	return &line{Grant: g}, nil
}

// errNotWanted is why a stream that was closed while it joined does not.
func errNotWanted(id uint32) error { return fmt.Errorf("stream %d was closed before it joined", id) }

// close ends streams, and says what its own senders had sent. It takes back those that have not joined.
func (s *session) close(l *line) (*line, error) {
	var mu sync.Mutex // guards out
	out := &line{}
	s.guest.Look()
	var wg sync.WaitGroup
	for _, c := range l.Close {
		r := s.forget(c.ID)
		wg.Go(func() {
			if r != nil {
				_ = r.Close()
			} else if tx, ok := s.ledger.CloseSender(c.ID); ok {
				mu.Lock()
				defer mu.Unlock()
				out.Close = append(out.Close, closing{ID: c.ID, Sent: tx.Packets})
			} else {
				s.ledger.FinishReceiver(c.ID, c.Sent)
			}
		})
	}
	wg.Wait()
	s.describe()
	return out, nil
}

// forget takes the stream out of what there is and what is expected, and returns the probe's end if it was that.
func (s *session) forget(id uint32) *flow.Reflector {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.probes[id]
	delete(s.probes, id)
	delete(s.open, id)
	if e := s.expects[id]; e != nil {
		delete(s.expects, id)
		close(e.gone)
		e.drop()
	}
	return r
}

// end lets go of everything.
func (s *session) end() {
	_ = s.ctl.conn.Close()
	close(s.done)
	s.wg.Wait()
	s.ledger.Close()
	s.mu.Lock()
	probes, expects := s.probes, s.expects
	s.probes, s.expects = nil, nil
	s.mu.Unlock()
	for _, r := range probes {
		_ = r.Close()
	}
	for _, e := range expects {
		e.drop()
	}
}
