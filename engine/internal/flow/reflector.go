package flow

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// reflectBatch is how many probe datagrams are taken in at once; more would only age in the batch.
const reflectBatch = 16

// Reflector is the far end of the probe: it answers each probe datagram with one of the same size. It is a goroutine
// that waits in Go's poller, see the package comment.
type Reflector struct {
	file    *os.File
	raw     syscall.RawConn
	in      *batch
	out     *batch // the same memory without control data, to be sent
	id, tag uint32
	seen    window
	stop    atomic.Bool
	start   sync.Once
	done    sync.WaitGroup
}

// NewReflector takes over the connected socket fd, which [DialUDP] made, unless there is an error.
func NewReflector(fd int, id, tag uint32) (*Reflector, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, os.NewSyscallError("fcntl O_NONBLOCK", err)
	}
	in := newBatch(reflectBatch, ProbeSize, true)
	r := &Reflector{
		in:   in,
		out:  &batch{hdr: make([]unix.Mmsghdr, reflectBatch), buf: in.buf, size: ProbeSize},
		id:   id,
		tag:  tag,
		file: os.NewFile(uintptr(fd), "probe"),
	}
	r.raw, _ = r.file.SyscallConn() // fails for no file at all only
	return r, nil
}

// Start lets it answer. After Close it does nothing.
func (r *Reflector) Start() {
	r.start.Do(func() {
		r.done.Go(func() { _ = r.raw.Read(r.serve) }) // ends by Close, or by a socket that can do no more
	})
}

// serve answers all that is there. It returns true where nothing more is to be waited for.
func (r *Reflector) serve(fd uintptr) bool {
	for !r.stop.Load() {
		n, err := r.in.poll(int(fd))
		switch {
		case err == unix.EAGAIN:
			return false
		case err == nil:
			// An answer that the kernel does not take is a loss on the way back, and counted as such at the near end.
			if k := r.answer(n); k > 0 {
				_, _ = r.out.post(int(fd), k)
			}
		case !passing(err.(unix.Errno)):
			return true
		}
	}
	return true
}

// answer turns the valid ones of n datagrams into their echoes and returns how many are to be sent.
func (r *Reflector) answer(n int) int {
	k := 0
	for i := range n {
		at, kernel := r.in.stamp(i)
		var h header
		b := r.in.received(i)
		if len(b) < ProbeSize || !h.get(b) || h.kind != kindProbe || h.id != r.id || h.tag != r.tag || !r.seen.see(h.seq) {
			continue
		}
		h.kind, h.flags = kindEcho, flagKernel
		if !kernel {
			at, h.flags = Wall(), 0
		}
		h.put(b)
		e := echo{count: r.seen.distinct, received: at, sent: Wall()}
		e.put(b)
		r.out.hdr[k] = unix.Mmsghdr{Hdr: unix.Msghdr{Iov: &r.in.iov[i]}}
		r.out.hdr[k].Hdr.SetIovlen(1)
		k++
	}
	return k
}

// Close ends it and closes the socket. It may be called more than once and by any goroutine.
func (r *Reflector) Close() error {
	r.stop.Store(true)
	r.start.Do(func() {}) // no longer possible
	err := r.file.Close()
	r.done.Wait()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
