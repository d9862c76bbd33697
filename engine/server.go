package engine

import "github.com/ethtune/ethtune/engine/internal/dialect/native"

// Server answers engines on one TCP and UDP port. It measures for them and never starts anything by itself.
type Server struct{ s *native.Server }

// Listen serves on addr, host:port, until Close. An empty host is every address, port 0 is any free port. What cannot be
// bound is an error that names the address.
func Listen(addr string) (*Server, error) {
	s, err := native.Listen(addr)
	if err != nil {
		return nil, err
	}
	return &Server{s}, nil
}

// Addr is the address that is served.
func (s *Server) Addr() string { return s.s.Addr() }

// Close ends every session and its traffic, and waits for both. It may be called twice.
func (s *Server) Close() error { return s.s.Close() }
