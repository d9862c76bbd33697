package engine

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/dialect/iperf2"
	"github.com/ethtune/ethtune/engine/internal/dialect/iperf3"
	"github.com/ethtune/ethtune/engine/internal/dialect/native"
	"github.com/ethtune/ethtune/engine/internal/host"
	"github.com/ethtune/ethtune/engine/metric"
)

// Server answers engines and the programs whose dialects it speaks. It measures for them and never starts anything by
// itself.
type Server struct {
	house   dialect.House
	feed    *metric.Feed
	speaks  []listener
	serving []metric.Listening
	quit    chan struct{}
	done    chan struct{}
}

// listener is the server of one dialect.
type listener interface {
	Addr() string
	Close() error
}

// guestInterval is how often the guests are told of.
const guestInterval = time.Second

// Listen serves as s says until Close. A dialect whose port cannot be had is left out, which Serving tells; with none left
// it is an error. Guests are told of in feed, which stays the caller's: as they come and go, and each second.
func Listen(s metric.Serve, feed *metric.Feed) (*Server, error) {
	srv := &Server{feed: feed, quit: make(chan struct{}), done: make(chan struct{})}
	srv.house.Rules = s.Rules
	srv.house.Told = func(g metric.Guest) { feed.Put(&g) }
	var errs []error
	for _, l := range []struct {
		dialect, addr string
		listen        func(addr string, h *dialect.House) (listener, error)
	}{
		{native.Name, s.Native, func(a string, h *dialect.House) (listener, error) { return native.Listen(a, h) }},
		{iperf3.Name, s.Iperf3, func(a string, h *dialect.House) (listener, error) { return iperf3.Listen(a, h) }},
		{iperf2.Name, s.Iperf2, func(a string, h *dialect.House) (listener, error) { return iperf2.Listen(a, h) }},
	} {
		if l.addr == "" {
			continue
		}
		got, err := l.listen(l.addr, &srv.house)
		told := metric.Listening{Dialect: l.dialect, Addr: l.addr}
		if err != nil {
			err = taken(l.addr, err)
			told.Skipped = strings.ReplaceAll(err.Error(), "\n", "; ")
			errs = append(errs, fmt.Errorf("%s: %w", l.dialect, err))
		} else {
			srv.speaks = append(srv.speaks, got)
			told.Addr = got.Addr()
		}
		srv.serving = append(srv.serving, told)
	}
	if len(srv.speaks) == 0 {
		return nil, errors.Join(errs...)
	}
	go srv.report()
	return srv, nil
}

// taken adds to the error of a port that is in use who has it.
func taken(addr string, err error) error {
	_, text, splitErr := net.SplitHostPort(addr)
	port, portErr := strconv.Atoi(text)
	if !errors.Is(err, syscall.EADDRINUSE) || splitErr != nil || portErr != nil {
		return err
	}
	owner := host.PortOwner(host.Root, port)
	if owner == "" {
		return err
	}
	return fmt.Errorf("%w (%s)", err, dialect.Plain(owner)) // a process names itself
}

// report tells of the guests.
func (s *Server) report() {
	defer close(s.done)
	tick := time.NewTicker(guestInterval)
	defer tick.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-tick.C:
			s.house.Tell()
		}
	}
}

// Serving lists what was asked for, with the address that is served or why none is.
func (s *Server) Serving() []metric.Listening { return s.serving }

// Addr is the address of the first dialect that is served.
func (s *Server) Addr() string { return s.speaks[0].Addr() }

// Kick ends the session of the guest of that id; false where there is none.
func (s *Server) Kick(id int, reason string) bool { return s.house.Kick(id, reason) }

// Close ends every session and its traffic, and waits for both. It may be called twice.
func (s *Server) Close() error {
	select {
	case <-s.quit:
		<-s.done
		return nil
	default:
		close(s.quit)
	}
	<-s.done
	var errs []error
	for _, l := range s.speaks {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}
