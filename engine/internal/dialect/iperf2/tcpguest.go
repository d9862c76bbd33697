package iperf2

import (
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

const (
	// tcpIdle is how long a connection may carry nothing.
	tcpIdle = time.Minute
	// guestTick is how often a guest is looked after.
	guestTick = 100 * time.Millisecond
	// userTimeout is how long what was sent may go unacknowledged before the connection is given up, in milliseconds.
	userTimeout = 30_000
)

// noLegacy is what becomes of -d and -r.
const noLegacy = "it asked for -d or -r, which connect back to the client and are not done: its own traffic was received (-R and --full-duplex need no second connection)"

// tcpGuest is one connection of a client.
type tcpGuest struct {
	dialect.Guest
	load   flow.Ledger
	kicked chan string
	h      header
	out    *tcpSender
	in     flow.Receiver
}

// serveTCP serves a client's connection to its end.
func (s *Server) serveTCP(c *net.TCPConn, h header) {
	g := &tcpGuest{h: h, kicked: make(chan string, 1)}
	g.Dialect, g.Peer, g.Load, g.Kick = Name, c.RemoteAddr().String(), &g.load, kicker(g.kicked)
	if err := s.house.Enter(&g.Guest); err != nil {
		_ = c.Close()
		return
	}
	fd, err := flow.Detach(c)
	if err == nil {
		err = g.equip(fd, s.house.Rules.RateBps)
	}
	if err != nil {
		g.Leave(err.Error())
		return
	}
	g.Describe(metric.TCP, h.mode(), 1)
	g.load.Start()
	reason := g.run(s)
	if reason != "" && g.out != nil {
		g.out.cut.Store(true)
	}
	g.load.CloseSender(1)
	g.load.FinishReceiver(1, 0)
	if reason == "" && h.flags&flagVersion1 != 0 {
		reason = noLegacy
	}
	g.Leave(reason)
}

// kicker is a [dialect.Guest.Kick] that hands the first reason to c, which has room for one.
func kicker(c chan<- string) func(string) {
	return func(reason string) {
		select {
		case c <- reason:
		default:
		}
	}
}

// equip gives fd to the flows of the guest's directions, or closes it.
func (g *tcpGuest) equip(fd int, limit int64) error {
	mode := g.h.mode()
	conf := flow.Config{Size: g.h.size, Rate: g.h.rate}
	if conf.Size == 0 {
		conf.Size = flow.DefaultTCPSize
	}
	if limit > 0 && (conf.Rate == 0 || conf.Rate > limit) {
		conf.Rate = limit
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, userTimeout)
	st := &stream{fd: fd, size: conf.Size, base: acked(fd)}
	if mode == metric.ModeIn {
		// The client sends no more than its header. Left unread it would make a reset of our close.
		_, _, _ = unix.Recvfrom(fd, make([]byte, lenMask>>1), unix.MSG_DONTWAIT)
	}
	// What is out for the client is in here.
	ours := map[metric.Mode]metric.Mode{metric.ModeOut: metric.ModeIn, metric.ModeIn: metric.ModeOut, metric.ModeBoth: metric.ModeBoth}
	if err := st.equipTCP(ours[mode], conf, g.h.bytes); err != nil {
		st.drop()
		return fmt.Errorf("take over connection: %w", err)
	}
	if g.out, _ = st.out.(*tcpSender); g.out != nil {
		g.load.AddSender(1, g.out)
	}
	if g.in = st.in; g.in != nil {
		g.load.AddReceiver(1, g.in)
	}
	return nil
}

// run waits until both directions have ended, and returns why where it is not for the client's own sake.
func (g *tcpGuest) run(s *Server) string {
	var received, sent <-chan struct{}
	if g.in != nil {
		received = g.in.Done()
	}
	if g.out != nil {
		sent = g.out.Done()
	}
	tick := time.NewTicker(guestTick)
	defer tick.Stop()
	var amount <-chan time.Time
	if g.h.time > 0 {
		amount = time.After(g.h.time)
	}
	quiet, reason := idle{most: tcpIdle}, ""
	for received != nil || sent != nil {
		select {
		case reason := <-g.kicked:
			return reason
		case <-s.ctx.Done():
			return "the server ends"
		case <-received:
			reason = silent(g.in.Err())
			received = nil
		case <-sent:
			reason = silent(g.out.Err())
			g.load.CloseSender(1)
			sent = nil
		case <-amount:
			g.load.CloseSender(1)
			sent = nil
		case now := <-tick.C:
			r := g.load.Read(nil)
			if quiet.over(now, r.Tx.Bytes+r.Rx.Bytes) {
				return fmt.Sprintf("nothing was carried for %v", tcpIdle)
			}
		}
	}
	return reason
}

// silent words the end of a client that does not answer any more; any other end of a connection is the client's way to say
// that it is done.
func silent(err error) string {
	if errors.Is(err, unix.ETIMEDOUT) {
		return "the client does not answer any more: " + err.Error()
	}
	return ""
}

// idle tells when a count stands still for too long.
type idle struct {
	most  time.Duration
	count uint64
	since time.Time
}

// over takes the count at now.
func (i *idle) over(now time.Time, count uint64) bool {
	if count != i.count || i.since.IsZero() {
		i.count, i.since = count, now
	}
	return now.Sub(i.since) > i.most
}
