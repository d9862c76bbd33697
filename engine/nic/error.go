package nic

import (
	"errors"
	"os"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Error is a request that the kernel refused. errors.Is finds [os.ErrPermission], [os.ErrNotExist] (no such interface)
// and [errors.ErrUnsupported] in it.
type Error struct {
	Op  string // what was tried: "set mtu"
	Dev string // the interface
	Err error  // the error number, or what went wrong on the way
	msg string // the kernel's own words, where it sent some
}

// Error names the interface, the request and the reason.
func (e *Error) Error() string { return e.Dev + ": " + e.Op + ": " + e.Reason() }

// Reason is the kernel's own words, or those of its error number where it sent none.
func (e *Error) Reason() string {
	if e.msg != "" {
		return e.msg
	}
	var errno unix.Errno
	if errors.As(e.Err, &errno) {
		return errno.Error()
	}
	return e.Err.Error()
}

// Unwrap is the error number.
func (e *Error) Unwrap() error { return e.Err }

// Is adds "no such interface" to what the error number itself answers to.
func (e *Error) Is(target error) bool {
	return target == os.ErrNotExist && errors.Is(e.Err, unix.ENODEV)
}

// worded is an error number with words that the kernel would have had for it.
type worded struct {
	error
	words string
}

func (w worded) Unwrap() error { return w.error }

// refused wraps what came back from the kernel; nil stays nil.
func refused(op, dev string, err error) error {
	if err == nil {
		return nil
	}
	e := &Error{Op: op, Dev: dev, Err: err}
	var answer *netlink.OpError
	if errors.As(err, &answer) {
		e.msg, e.Err = answer.Message, answer.Err
	}
	var ours worded
	if errors.As(err, &ours) {
		e.msg, e.Err = ours.words, ours.error
	}
	return e
}
