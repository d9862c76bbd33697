package flow

import (
	"bytes"
	"encoding/binary"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestHeaderRoundTrip(t *testing.T) {
	in := header{kind: kindEcho, id: 9, seq: 1<<63 + 5, sent: -7, flags: flagKernel, tag: 0xdeadbeef}
	far := echo{count: 1 << 40, received: 5, sent: 6}
	b := make([]byte, ProbeSize)
	in.put(b)
	far.put(b)
	var out header
	var got echo
	if !out.get(b) || !got.get(b) || out != in || got != far {
		t.Errorf("%+v %+v", out, got)
	}
}

func FuzzDatagram(f *testing.F) {
	f.Add(make([]byte, HeaderSize))
	f.Add(make([]byte, ProbeSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h header
		var e echo
		if h.get(b) != (len(b) >= HeaderSize) || e.get(b) != (len(b) >= ProbeSize) {
			t.Fatal("length is not what decides")
		}
		if !h.get(b) {
			return
		}
		again := make([]byte, HeaderSize)
		if h.put(again); !bytes.Equal(again, b[:HeaderSize]) {
			t.Fatalf("%x became %x", b, again)
		}
	})
}

// cmsg is a control message as the kernel writes it, with its padding.
func cmsg(level, typ int32, data ...byte) []byte {
	b := make([]byte, unix.CmsgSpace(len(data)))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = level, typ
	h.SetLen(unix.CmsgLen(len(data)))
	copy(b[unix.CmsgLen(0):], data)
	return b
}

func stampBytes(typ int32, data ...byte) []byte { return cmsg(unix.SOL_SOCKET, typ, data...) }

func segmentBytes(n int32) []byte {
	return cmsg(unix.IPPROTO_UDP, unix.UDP_GRO, binary.NativeEndian.AppendUint32(nil, uint32(n))...)
}

func TestParseControl(t *testing.T) {
	wide := stampBytes(unix.SO_TIMESTAMPNS_NEW, binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, 3), 7)...)
	narrow := stampBytes(unix.SO_TIMESTAMPNS_OLD, binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, 3), 7)...)
	at := control{at: 3_000_000_007, stamped: true}
	train := at
	train.segment = 1448
	for name, c := range map[string]struct {
		ctl  []byte
		want control
	}{
		"64 bit":           {wide, at},
		"32 bit":           {narrow, at},
		"a train":          {append(bytes.Clone(wide), segmentBytes(1448)...), train},
		"the other way":    {append(segmentBytes(1448), wide...), train},
		"another type":     {append(cmsg(unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1, 0, 0, 0), wide...), at},
		"without padding":  {segmentBytes(1448)[:unix.CmsgLen(4)], control{segment: 1448}},
		"negative segment": {segmentBytes(-1), control{}},
		"cut off":          {wide[:unix.CmsgLen(4)], control{}},
		"stamp too short":  {stampBytes(unix.SO_TIMESTAMPNS_NEW, 1, 2, 3, 4), control{}},
		"nothing":          {nil, control{}},
	} {
		if got := parseControl(c.ctl); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func FuzzParseControl(f *testing.F) {
	f.Add(stampBytes(unix.SO_TIMESTAMPNS_NEW, make([]byte, 16)...))
	f.Add(append(stampBytes(unix.SO_TIMESTAMPNS_NEW, make([]byte, 16)...), segmentBytes(1448)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > ctlSize {
			b = b[:ctlSize]
		}
		// The kernel aligns control data; the fuzzer does not.
		ctl := make([]uint64, ctlSize/8+1)
		mem := unsafe.Slice((*byte)(unsafe.Pointer(&ctl[0])), len(b))
		copy(mem, b)
		if c := parseControl(mem); c.segment < 0 || !c.stamped && c.at != 0 {
			t.Errorf("%+v", c)
		}
	})
}

// What the head of a load datagram says arrives, and whatever arrives is read without harm.
func FuzzNativeHead(f *testing.F) {
	f.Add(uint64(1), int64(-7), uint32(65535), true, false)
	f.Fuzz(func(t *testing.T, seq uint64, sent int64, epoch uint32, first, end bool) {
		in := Head{Seq: seq, Sent: sent, First: first, Epoch: epoch & 0xffff, End: end}
		w := NewNative(3, 4)
		b := make([]byte, HeaderSize)
		w.Put(b, &in)
		var out Head
		if !w.Get(b, &out) || out != in {
			t.Errorf("%+v became %+v", in, out)
		}
	})
}
