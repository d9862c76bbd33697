package dialect

import (
	"io"
	"net"
	"testing"
	"time"
)

// listening is a porch that serves, and where.
func listening(t *testing.T, welcome func(*net.TCPConn, int)) (*Porch, string) {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	p := &Porch{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Receive(l, welcome)
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
		p.Close()
		p.Wait()
	})
	return p, l.Addr().String()
}

func come(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

// Those who say nothing make room for who comes later, the oldest first, and keep nobody out.
func TestPorchIsFull(t *testing.T) {
	left := make(chan int, 2*MaxGreeting)
	p, addr := listening(t, func(c *net.TCPConn, n int) {
		defer c.Close()
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			left <- n
			return
		}
		_, _ = c.Write([]byte{byte(n)})
	})
	silent := make([]net.Conn, MaxGreeting+10)
	for i := range silent {
		silent[i] = come(t, addr)
	}
	good := come(t, addr)
	if _, err := good.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 1)
	if _, err := io.ReadFull(good, answer); err != nil || answer[0] != byte((MaxGreeting+10)%256) {
		t.Fatalf("the one that speaks hears %v, %v", answer, err)
	}
	gone := make(map[int]bool)
	for range 11 {
		gone[<-left] = true
	}
	for n := range 11 {
		if !gone[n] {
			t.Errorf("%v went, and not %d", gone, n)
		}
	}
	p.mu.Lock()
	n := len(p.here)
	p.mu.Unlock()
	if n > MaxGreeting {
		t.Errorf("%d stand here", n)
	}
	p.Close()
	for range MaxGreeting - 1 {
		<-left
	}
	late := come(t, addr)
	if _, err := late.Read(answer); err == nil {
		t.Error("one came in after Close")
	}
}

// One that passed is its server's: neither Close nor others end it.
func TestPorchLetsPass(t *testing.T) {
	var p *Porch
	passed := make(chan struct{})
	ready := make(chan struct{})
	p, addr := listening(t, func(c *net.TCPConn, _ int) {
		defer c.Close()
		<-ready
		p.Pass(c)
		p.Pass(c)
		close(passed)
		_, _ = io.Copy(c, c)
	})
	close(ready)
	c := come(t, addr)
	<-passed
	p.Close()
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Errorf("it is closed: %v", err)
	}
	c.Close()
}
