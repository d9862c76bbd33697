package engine

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
)

// What a kernel refuses is an error in its words, at whichever end, and the old load goes on.
func TestRefusal(t *testing.T) {
	s, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := dial(t, s.Addr())
	r.drive(func(s *metric.Spec) {})
	r.until("traffic", flows)
	for _, side := range []string{"near", "far"} {
		spec := r.Spec()
		if side == "near" {
			spec.Near.Congestion = "nonesuch"
		} else {
			spec.Far.Congestion = "nonesuch"
		}
		_, err := r.Drive(r.ctx, spec)
		if err == nil || !strings.Contains(err.Error(), "nonesuch") || !strings.Contains(err.Error(), side) ||
			!strings.Contains(err.Error(), "no such file or directory") {
			t.Errorf("%s: %v", side, err)
		}
		r.until("the old traffic", flows)
	}
	if g := r.Granted(); g.Near.Congestion == "nonesuch" {
		t.Errorf("granted %+v", g)
	}
}

func TestListenNamesTheAddress(t *testing.T) {
	s, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := Listen(s.Addr()); err == nil || !strings.Contains(err.Error(), s.Addr()) {
		t.Errorf("got %v", err)
	}
}

// A port that speaks something else is one clear line.
func TestDialStranger(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Write([]byte("SSH-2.0-OpenSSH_9.2p1\r\n"))
			c.Close()
		}
	}()
	_, err = Dial(context.Background(), l.Addr().String(), "", metric.NewFeed())
	if err == nil || !strings.Contains(err.Error(), l.Addr().String()) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}
