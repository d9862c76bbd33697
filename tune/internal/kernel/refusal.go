package kernel

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/tune/knob"
)

// refusal is a sysctl that was not read or not written. errors.Is finds [os.ErrPermission] in it where a right is missing.
type refusal struct {
	knob, op, value string
	err             error
	hint            string // what the error number does not say
}

// Error names the sysctl, what was tried and why it failed.
func (r *refusal) Error() string {
	return strings.TrimRight(r.knob+": "+r.op+" "+r.value, " ") + ": " + r.Reason()
}

// Reason is the kernel's words, and what they mean here.
func (r *refusal) Reason() string {
	if r.hint == "" {
		return r.err.Error()
	}
	return r.err.Error() + ": " + r.hint
}

// Unwrap is the error number.
func (r *refusal) Unwrap() error { return r.err }

// hint says what the error number of a write means for this sysctl. Both lists of names answer "no such file or
// directory" to a name that they, and modprobe, do not know.
func (s *Sysctls) hint(c sysctl, err error) string {
	offers := ""
	if list := s.offers(c.knob); len(list) > 0 {
		offers = "; there are " + strings.Join(list, " ")
	}
	switch {
	case c.fixed != "":
		return c.fixed
	case c.knob == congestion && errors.Is(err, unix.ENOENT):
		return "no such congestion control" + offers
	case c.knob == congestion && errors.Is(err, os.ErrPermission):
		return "a namespace takes only those that everybody may use" + offers
	case c.knob == qdisc && errors.Is(err, unix.ENOENT):
		return "this kernel has no such qdisc"
	case errors.Is(err, os.ErrPermission):
		return knob.NeedsAdmin
	}
	return ""
}
