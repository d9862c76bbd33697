package dialect

import (
	"errors"
	"net"
	"sync"
	"time"
)

const (
	// MaxGreeting bounds the connections of one server that have not said what they are.
	MaxGreeting = 256
	// greetTimeout bounds how long one may take to say so.
	greetTimeout = 5 * time.Second
	// acceptAgain is the wait after an accept that failed.
	acceptAgain = 50 * time.Millisecond
)

// Porch is where the connections of a server stand that have not said what they are. Where there are [MaxGreeting] the one
// that has stood there longest goes when another comes: a client that means it is through within two round trips. The zero
// Porch is ready. Its methods may be called by any goroutine.
type Porch struct {
	mu     sync.Mutex
	here   map[*net.TCPConn]int // by the order in which they came
	came   int
	closed bool
	wg     sync.WaitGroup
}

// Receive takes connections until l is closed. Each is welcomed in a goroutine of its own, with its number in the order of
// all that came and a deadline by which it must have said what it is. The welcome owns c, and calls Pass once it knows.
func (p *Porch) Receive(l *net.TCPListener, welcome func(c *net.TCPConn, n int)) {
	for {
		c, err := l.AcceptTCP()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			// Out of descriptors or memory for the moment; accept fails at once until that passes.
			time.Sleep(acceptAgain)
		default:
			p.enter(c, welcome)
		}
	}
}

func (p *Porch) enter(c *net.TCPConn, welcome func(c *net.TCPConn, n int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return
	}
	if len(p.here) >= MaxGreeting {
		p.evict()
	}
	if p.here == nil {
		p.here = make(map[*net.TCPConn]int)
	}
	n := p.came
	p.came++
	p.here[c] = n
	_ = c.SetDeadline(time.Now().Add(greetTimeout))
	p.wg.Go(func() {
		defer p.Pass(c)
		welcome(c, n)
	})
}

// evict closes the connection that has stood here for longest. The caller holds mu.
func (p *Porch) evict() {
	var oldest *net.TCPConn
	for c, n := range p.here {
		if oldest == nil || n < p.here[oldest] {
			oldest = c
		}
	}
	_ = oldest.Close()
	delete(p.here, oldest)
}

// Pass takes c, which is known now, from the porch. Its deadline is its server's from then on. It may be called twice.
func (p *Porch) Pass(c *net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.here, c)
}

// Close closes the connections that stand here, and every one that comes.
func (p *Porch) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for c := range p.here {
		_ = c.Close()
	}
}

// Wait waits, after Close, until every welcome has returned.
func (p *Porch) Wait() { p.wg.Wait() }
