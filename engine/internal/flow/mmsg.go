package flow

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ctlSize holds the control messages of one message received: a stamp of two 64-bit numbers, and the size of the
// datagrams in a train.
var ctlSize = unix.CmsgSpace(16) + unix.CmsgSpace(4)

// rawBytes bounds what one call of sendmmsg or recvmmsg copies: it is made without a word to the Go scheduler, and a
// garbage collection waits for it.
const rawBytes = 1 << 20

// batch is the memory of sendmmsg and recvmmsg, allocated once: n messages of up to size bytes. A message is a datagram, or
// a train of them.
type batch struct {
	hdr  []unix.Mmsghdr
	iov  []unix.Iovec
	buf  []byte
	ctl  []byte // ctlSize bytes a message; nil in a batch to be sent
	size int
}

func newBatch(n, size int, receive bool) *batch {
	n = max(1, min(n, rawBytes/size))
	b := &batch{
		hdr:  make([]unix.Mmsghdr, n),
		iov:  make([]unix.Iovec, n),
		buf:  make([]byte, n*size),
		size: size,
	}
	if receive {
		b.ctl = make([]byte, n*ctlSize)
	}
	for i := range b.hdr {
		b.iov[i].Base = &b.buf[i*size]
		b.iov[i].SetLen(size)
		b.hdr[i].Hdr.Iov = &b.iov[i]
		b.hdr[i].Hdr.SetIovlen(1)
		if receive {
			b.hdr[i].Hdr.Control = &b.ctl[i*ctlSize]
			b.hdr[i].Hdr.SetControllen(ctlSize)
		}
	}
	return b
}

// data is the i-th message's memory.
func (b *batch) data(i int) []byte { return b.buf[i*b.size : (i+1)*b.size] }

// received is the i-th message as it came.
func (b *batch) received(i int) []byte { return b.data(i)[:min(int(b.hdr[i].Len), b.size)] }

// len is how many messages it holds.
func (b *batch) len() int { return len(b.hdr) }

// send sends the first n messages and returns how many the kernel took. It waits for the socket's [turn] at most.
func (b *batch) send(fd, n int) (int, error) {
	return b.call(unix.SYS_SENDMMSG, fd, n, unix.MSG_NOSIGNAL)
}

// write is send of the first message alone, by sendto(2).
func (b *batch) write(fd int) (int, error) {
	_, _, e := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b.buf[0])), uintptr(b.size),
		unix.MSG_NOSIGNAL, 0, 0)
	if e != 0 {
		return 0, e
	}
	return 1, nil
}

// post is send that does not wait.
func (b *batch) post(fd, n int) (int, error) {
	return b.call(unix.SYS_SENDMMSG, fd, n, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
}

// receive takes as many messages as are there. For the first it waits, for the socket's [turn] at most.
func (b *batch) receive(fd int) (int, error) {
	return b.call(unix.SYS_RECVMMSG, fd, len(b.hdr), unix.MSG_WAITFORONE)
}

// poll is receive that does not wait.
func (b *batch) poll(fd int) (int, error) {
	return b.call(unix.SYS_RECVMMSG, fd, len(b.hdr), unix.MSG_DONTWAIT)
}

// call is a system call that the Go scheduler does not know of, see the package comment.
func (b *batch) call(number uintptr, fd, n int, flags uintptr) (int, error) {
	r, _, e := unix.RawSyscall6(number, uintptr(fd), uintptr(unsafe.Pointer(&b.hdr[0])), uintptr(n), flags, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(r), nil
}

// control is what the kernel says of a message it hands over.
type control struct {
	at      int64 // receive stamp, CLOCK_REALTIME ns
	stamped bool
	segment int // bytes of each datagram of a train but the last; 0 where it is none
}

// stamp returns the kernel's receive stamp of the i-th message in CLOCK_REALTIME ns, false where it gave none. See
// control.
func (b *batch) stamp(i int) (int64, bool) {
	c := b.control(i)
	return c.at, c.stamped
}

// control reads the control memory of the i-th message and makes it ready for the next call.
func (b *batch) control(i int) control {
	h := &b.hdr[i].Hdr
	n := int(h.Controllen)
	h.SetControllen(ctlSize)
	return parseControl(b.ctl[i*ctlSize : i*ctlSize+min(max(n, 0), ctlSize)])
}

// parseControl reads the control messages of SO_TIMESTAMPNS and UDP_GRO. Its memory is aligned as the kernel's is.
func parseControl(ctl []byte) control {
	var c control
	for len(ctl) >= unix.SizeofCmsghdr {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&ctl[0]))
		size := int(h.Len)
		if size < unix.CmsgLen(0) || size > len(ctl) {
			break
		}
		data := ctl[unix.CmsgLen(0):size]
		switch {
		case h.Level == unix.SOL_SOCKET && (h.Type == unix.SO_TIMESTAMPNS_NEW || h.Type == unix.SO_TIMESTAMPNS_OLD):
			c.at, c.stamped = parseStamp(data)
		case h.Level == unix.IPPROTO_UDP && h.Type == unix.UDP_GRO && len(data) >= 4:
			c.segment = max(0, int(int32(binary.NativeEndian.Uint32(data))))
		}
		ctl = ctl[min(unix.CmsgSpace(len(data)), len(ctl)):]
	}
	return c
}

// parseStamp reads a stamp. Kernels before 5.1 know only the old form, whose numbers are as wide as a long.
func parseStamp(data []byte) (int64, bool) {
	switch {
	case len(data) >= 16:
		return int64(binary.NativeEndian.Uint64(data))*1e9 + int64(binary.NativeEndian.Uint64(data[8:])), true
	case len(data) >= 8:
		sec, ns := int32(binary.NativeEndian.Uint32(data)), int32(binary.NativeEndian.Uint32(data[4:]))
		return int64(sec)*1e9 + int64(ns), true
	}
	return 0, false
}
