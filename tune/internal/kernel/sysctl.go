package kernel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/tune/knob"
)

const (
	sysctlPrefix = "sysctl."
	congestion   = "sysctl.net.ipv4.tcp_congestion_control"
	qdisc        = "sysctl.net.core.default_qdisc"

	// backlog is there in the first network namespace of a machine and in no other, whatever the kernel's age.
	backlog = "sysctl.net.core.netdev_max_backlog"

	// hostWide is said in a network namespace that cannot see the setting, readOnly where it is a copy to look at.
	hostWide = "host-wide"
	readOnly = "read-only here"
)

// Sysctls is a family of sysctls. It stays with the network namespace of the thread that opened it.
type Sysctls struct {
	name  string
	list  []sysctl
	words *procFile // congestion controls that may be asked for here; nil = the kernel does not say
	ram   int64     // bytes; 0 = not known
}

// sysctl is one of them. node is nil where the file is not there.
type sysctl struct {
	knob  string
	node  node
	fixed string // why it cannot be turned here; empty = it can
}

// node is a [procFile], or in a test what fails like one.
type node interface {
	read() (string, error)
	write(value string) error
	Close() error
}

// OpenHost opens the sysctls of the machine as a whole under proc, which is "/proc". In a network namespace of its own
// they are there without a value, or with one that cannot be turned, and say so.
func OpenHost(proc string) (*Sysctls, error) { return openSysctls("host", proc, true) }

// OpenNetns opens the sysctls that the network namespace of the calling thread has for itself.
func OpenNetns(proc string) (*Sysctls, error) { return openSysctls("netns", proc, false) }

func openSysctls(name, proc string, wide bool) (*Sysctls, error) {
	s := &Sysctls{name: name, ram: memTotal(proc)}
	_, err := os.Lstat(sysctlPath(proc, backlog))
	child := errors.Is(err, os.ErrNotExist)
	for _, k := range knob.Sysctls(wide) {
		f, err := openProc(sysctlPath(proc, k))
		switch {
		case err == nil:
			s.list = append(s.list, sysctl{k, f, f.fixed()})
		case !errors.Is(err, os.ErrNotExist):
			return nil, errors.Join(fmt.Errorf("open settings: %w", err), s.Close())
		case wide && child:
			s.list = append(s.list, sysctl{knob: k, fixed: hostWide})
		}
		// What this kernel does not have is left out.
	}
	if !wide {
		s.words = openWords(proc, child)
	}
	return s, nil
}

// sysctlPath is the file of a knob, whose name comes from the table of package knob and never from outside.
func sysctlPath(proc, name string) string {
	return filepath.Join(proc, "sys", strings.ReplaceAll(strings.TrimPrefix(name, sysctlPrefix), ".", "/"))
}

// openWords opens the list of congestion controls. The first namespace may take any that is loaded; the others only those
// that everybody may use (net/ipv4/tcp_cong.c tcp_set_default_congestion_control). Old kernels lack the lists in the
// others; then the kernel is the one to say what it has.
func openWords(proc string, child bool) *procFile {
	file := "tcp_available_congestion_control"
	if child {
		file = "tcp_allowed_congestion_control"
	}
	f, err := openProc(filepath.Join(proc, "sys/net/ipv4", file))
	if err != nil {
		return nil
	}
	return f
}

// fixed says why the file cannot be written.
func (p *procFile) fixed() string {
	switch {
	case p.denied == nil:
		return ""
	case p.mode&0o222 == 0, errors.Is(p.denied, unix.EROFS):
		return readOnly
	}
	return knob.NeedsAdmin
}

// Name is "host" or "netns".
func (s *Sysctls) Name() string { return s.name }

// Read asks for every sysctl, in the catalogue's order. Vectors come with single spaces.
func (s *Sysctls) Read(ctx context.Context) ([]knob.State, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	states := make([]knob.State, 0, len(s.list))
	for _, c := range s.list {
		st := knob.State{Knob: c.knob, Fixed: c.fixed}
		if c.node != nil {
			text, err := c.node.read()
			if err != nil {
				return nil, &refusal{knob: c.knob, op: "read", err: err}
			}
			st.Value = strings.Join(strings.Fields(text), " ")
		}
		if c.fixed == "" {
			st.Offers = s.offers(c.knob)
		}
		states = append(states, st)
	}
	return states, nil
}

// offers are the words that the kernel lists, or those of a choice.
func (s *Sysctls) offers(name string) []string {
	if name == congestion && s.words != nil {
		text, err := s.words.read()
		if err == nil {
			return strings.Fields(text)
		}
	}
	return knob.DomainOf(name).Words
}

// Write makes the settings, each with one write(2). It tries them all and returns what went wrong, joined. The kernel can
// refuse a vector and still have taken its first numbers (kernel/sysctl.c do_proc_dointvec stores as it parses); then the
// vector as it was is written back here, so that a turn that fails has changed nothing.
func (s *Sysctls) Write(ctx context.Context, settings []knob.Setting) error {
	var errs []error
	for _, set := range settings {
		if err := ctx.Err(); err != nil {
			errs = append(errs, err)
			break
		}
		errs = append(errs, s.writeOne(set))
	}
	return errors.Join(errs...)
}

func (s *Sysctls) writeOne(set knob.Setting) error {
	c, ok := s.find(set.Knob)
	if !ok {
		return fmt.Errorf("%s is not a knob of family %s", set.Knob, s.name)
	}
	refused := &refusal{knob: set.Knob, op: "write", value: set.Value}
	if !plain(set.Value) {
		refused.err = fmt.Errorf("%.40q is not a value of a sysctl", set.Value)
		return refused
	}
	if c.node == nil {
		refused.err = errors.New(c.fixed)
		return refused
	}
	old, err := c.node.read()
	if err != nil {
		refused.err = err
		return refused
	}
	if refused.err = c.node.write(set.Value); refused.err == nil {
		return nil
	}
	if now, err := c.node.read(); err == nil && now != old {
		if err := c.node.write(old); err != nil {
			refused.err = fmt.Errorf("%w; it was left at %s: %w", refused.err, now, err)
		}
	}
	refused.hint = s.hint(c, refused.err)
	return refused
}

func (s *Sysctls) find(name string) (sysctl, bool) {
	for _, c := range s.list {
		if c.knob == name {
			return c, true
		}
	}
	return sysctl{}, false
}

// plain keeps out what no sysctl of ours is written as. What a domain would refuse may still have been found on a host, so
// it can be put back.
func plain(value string) bool {
	odd := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != ' '
	}
	return value != "" && len(value) <= 256 && !strings.ContainsFunc(value, odd)
}

// Close lets go of the files.
func (s *Sysctls) Close() error {
	var errs []error
	for _, c := range s.list {
		if c.node != nil {
			errs = append(errs, c.node.Close())
		}
	}
	if s.words != nil {
		errs = append(errs, s.words.Close())
	}
	return errors.Join(errs...)
}
