package native

import (
	"net"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// What begins goes to the newest listeners, also after older ones were closed, in whatever order.
func TestNewestListenerIsGivenWhatBegins(t *testing.T) {
	ls, err := listenOn("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	given := make(chan *net.TCPListener)
	var accepting sync.WaitGroup
	accept := func(l *net.TCPListener) {
		accepting.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Close()
				given <- l
			}
		})
	}
	accept(ls.newest[0])
	defer func() {
		ls.close()
		accepting.Wait()
	}()
	check := func(when string) {
		t.Helper()
		for range 20 {
			c, err := net.Dial("tcp", ls.addr().String())
			if err != nil {
				t.Fatal(when, err)
			}
			if l := <-given; !slices.Contains(ls.newest, l) {
				t.Errorf("%s: it is given to an old one", when)
			}
			c.Close()
		}
	}
	check("at first")
	var old [][]*net.TCPListener
	for range 4 {
		old = append(old, ls.newest)
		if err := ls.renew(nil, accept); err != nil {
			t.Fatal(err)
		}
		check("after renewal")
	}
	for _, i := range []int{1, 0, 3, 2} {
		ls.retire(old[i])
		check("after some were closed")
	}
}

// While one session has the server listen anew again and again, no other loses a connection by it.
func TestRenewalLosesNoConnection(t *testing.T) {
	s := serve(t)
	renewing, opening := client(t, s), client(t, s)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := renewing.Renew(t.Context()); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for i := range 500 {
		o, err := opening.Open(t.Context(), Want{Proto: metric.TCP, Dir: metric.Out})
		if err == nil {
			err = opening.CloseStreams(t.Context(), o.ID)
		}
		if err != nil {
			t.Errorf("stream %d: %v", i, err)
			break
		}
	}
	close(stop)
	wg.Wait()
}

// A session whose near end has left does not wait for room among the retiring: its streams would send until then.
func TestLeavingDoesNotWaitForRoom(t *testing.T) {
	left := make(chan struct{}, 1)
	s, err := Listen("127.0.0.1:0", &dialect.House{Told: func(g metric.Guest) {
		if g.Event == "out" {
			left <- struct{}{}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range maxRetiring {
		s.tcp.room <- struct{}{}
	}
	c := client(t, s)
	ss := s.session(c.token)
	go c.Renew(t.Context())
	for ss.waiting.Load() == 0 {
		runtime.Gosched()
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	select {
	case <-left:
	case <-time.After(patience):
		t.Error("the guest is still there")
	}
}

// A far sender that is to have another congestion control than the kernel's does not begin with one that paces it for its
// life; one that is not to has the kernel's.
func TestAcceptedStreamsBeginUnpaced(t *testing.T) {
	ls, err := listenOn("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ls.close()
	for range 2 { // the first listener, and one that renews it
		c, err := net.Dial("tcp", ls.addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		a, err := ls.newest[0].AcceptTCP()
		if err != nil {
			t.Fatal(err)
		}
		fd, err := flow.Detach(a)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		if g, err := flow.Granted(fd, metric.TCP); err != nil || metric.Paces(g.Congestion) {
			t.Errorf("it begins with %s: %v", g.Congestion, err)
		}
		if err := ls.renew(nil, func(*net.TCPListener) {}); err != nil {
			t.Fatal(err)
		}
	}
	client := client(t, serve(t))
	kernel, err := client.Open(t.Context(), Want{Proto: metric.TCP, Dir: metric.In})
	if err != nil || kernel.Far.Congestion != kernel.Near.Congestion {
		t.Errorf("%+v %v", kernel, err)
	}
	asked, err := client.Open(t.Context(), Want{Proto: metric.TCP, Dir: metric.In, Far: metric.Socket{Congestion: "reno"}})
	if err != nil || asked.Far.Congestion != "reno" {
		t.Errorf("%+v %v", asked, err)
	}
}
