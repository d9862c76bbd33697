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

// stampBytes is a control message as the kernel writes it.
func stampBytes(typ int32, data ...byte) []byte {
	b := make([]byte, unix.CmsgLen(len(data)))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = unix.SOL_SOCKET, typ
	h.SetLen(len(b))
	copy(b[unix.CmsgLen(0):], data)
	return b
}

func TestParseStamp(t *testing.T) {
	wide := binary.NativeEndian.AppendUint64(binary.NativeEndian.AppendUint64(nil, 3), 7)
	narrow := binary.NativeEndian.AppendUint32(binary.NativeEndian.AppendUint32(nil, 3), 7)
	for name, c := range map[string]struct {
		ctl []byte
		ns  int64
		ok  bool
	}{
		"64 bit":       {stampBytes(unix.SO_TIMESTAMPNS_NEW, wide...), 3_000_000_007, true},
		"32 bit":       {stampBytes(unix.SO_TIMESTAMPNS_OLD, narrow...), 3_000_000_007, true},
		"another type": {stampBytes(unix.SO_RXQ_OVFL, wide...), 0, false},
		"cut off":      {stampBytes(unix.SO_TIMESTAMPNS_NEW, wide[:4]...), 0, false},
		"nothing":      {nil, 0, false},
	} {
		if ns, ok := parseStamp(c.ctl); ns != c.ns || ok != c.ok {
			t.Errorf("%s: %d %v", name, ns, ok)
		}
	}
}

func FuzzParseStamp(f *testing.F) {
	f.Add(stampBytes(unix.SO_TIMESTAMPNS_NEW, make([]byte, 16)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > ctlSize {
			b = b[:ctlSize]
		}
		// The kernel aligns control data; the fuzzer does not.
		ctl := make([]uint64, ctlSize/8+1)
		mem := unsafe.Slice((*byte)(unsafe.Pointer(&ctl[0])), len(b))
		copy(mem, b)
		parseStamp(mem)
	})
}
