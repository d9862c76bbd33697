package main

import (
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestScreenOfAStockServer is the screen against a stock iperf3 -s from end to end: what is measured is drawn, rate and
// direction change by keys, and a server that dies leaves a gap, and is taken up with again when it is back.
func TestScreenOfAStockServer(t *testing.T) {
	needRoot(t, "iperf3", "ss", "stdbuf")
	h := newTwoHosts(t)
	server, _ := h.stockServer("iperf3")
	c := openConsoleOf(t, h.near.run("tune", farV4, "-u", "-b", "20M"), 100, 40, []string{"TERM=xterm-256color"})
	c.await("iperf3", "udp → far", "live", "? help  q quit")
	arrives := func(rate string) {
		c.until([]string{rate}, regexp.MustCompile(`bandwidth +`+rate+` Mbit/s received`).MatchString)
	}
	arrives(`(20\.\d|19\.\d)`)
	c.keys("/rate\r")
	c.await("only rate")
	c.keys("\r")
	c.await("enter set")
	c.keys("40M\r")
	c.await("40.0 Mbit/s each", "1 rate 40 M")
	arrives(`(40\.\d|39\.\d)`)
	c.keys("/\x7f\x7f\x7f\x7fdir\r")
	c.await("only dir")
	c.keys(" ")
	c.await("udp from far", "2 dir in")
	arrives(`(40\.\d|39\.\d)`)
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	c.await("traffic ended")
	gone := time.NewTimer(time.Second)
	<-gone.C // of a gap
	h.stockServer("iperf3")
	c.await("the peer is back")
	arrives(`(40\.\d|39\.\d)`)
	c.keys("q")
	if code := c.quit(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	if sent := c.sent(); !strings.Contains(sent[strings.LastIndex(sent, "\x1b[?1049l"):], "ethtune") {
		t.Errorf("after the screen: %q", sent[strings.LastIndex(sent, "\x1b[?1049l"):])
	}
}
