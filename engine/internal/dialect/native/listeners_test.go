package native

import (
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
)

// What begins goes to the newest listener, also after older ones were closed, in whatever order.
func TestNewestListenerIsGivenWhatBegins(t *testing.T) {
	ls, err := listenOn("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ls.close()
	check := func(when string) {
		t.Helper()
		for range 20 {
			c, err := net.Dial("tcp", ls.newest.Addr().String())
			if err != nil {
				t.Fatal(when, err)
			}
			defer c.Close()
			_ = ls.newest.SetDeadline(time.Now().Add(5 * time.Second))
			got, err := ls.newest.Accept()
			if err != nil {
				t.Fatal(when, err)
			}
			got.Close()
		}
	}
	check("at first")
	for range 4 {
		if err := ls.renew(func(*net.TCPListener) {}); err != nil {
			t.Fatal(err)
		}
		check("after renewal")
	}
	old := slices.Clone(ls.all[:4])
	for _, i := range []int{1, 0, 3, 2} { // each time the last of the list takes the place, first the newest
		ls.retire(old[i])
		check("after one was closed")
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
