package native

import (
	"net"
	"slices"
	"sync"
	"testing"

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
		if err := ls.renew(accept); err != nil {
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
	for i := range 2000 {
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
