package flow

import (
	"os"

	"golang.org/x/sys/unix"
)

// reflectBatch is how many probe datagrams are answered at once; more would only age in the batch.
const reflectBatch = 16

// Reflector is the far end of the probe: it answers each probe datagram with one of the same size.
type Reflector struct {
	thread
	in      *batch
	out     []unix.Mmsghdr // the same memory without control data, to be sent
	id, tag uint32
	seen    window
}

// NewReflector takes over the connected socket fd, which [DialUDP] made.
func NewReflector(fd int, id, tag uint32) *Reflector {
	r := &Reflector{in: newBatch(reflectBatch, ProbeSize, true), out: make([]unix.Mmsghdr, reflectBatch), id: id, tag: tag}
	r.own(fd, r.run)
	return r
}

func (r *Reflector) run() error {
	answers := &batch{hdr: r.out, buf: r.in.buf, size: ProbeSize}
	for !r.stop.Load() {
		n, err := r.in.receive(r.fd)
		if err != nil {
			if r.stop.Load() {
				return nil
			}
			if passing(err.(unix.Errno)) {
				continue
			}
			return os.NewSyscallError("receive", err)
		}
		// An answer that the kernel does not take is a loss on the way back, and counted as such at the near end.
		if k := r.answer(n); k > 0 {
			_, _ = answers.send(r.fd, k)
		}
	}
	return nil
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
		r.out[k] = unix.Mmsghdr{Hdr: unix.Msghdr{Iov: &r.in.iov[i]}}
		r.out[k].Hdr.SetIovlen(1)
		k++
	}
	return k
}
