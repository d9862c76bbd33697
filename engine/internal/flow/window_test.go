package flow

import "testing"

func TestWindow(t *testing.T) {
	for name, c := range map[string]struct {
		seqs           []uint64
		next, distinct uint64
	}{
		"in order":       {[]uint64{0, 1, 2}, 3, 3},
		"gap":            {[]uint64{0, 5}, 6, 2},
		"reordered":      {[]uint64{0, 2, 1, 3}, 4, 4},
		"copied":         {[]uint64{0, 1, 1, 0}, 2, 2},
		"late copy":      {[]uint64{0, 2, 1, 1}, 3, 3},
		"starts late":    {[]uint64{100}, 101, 1},
		"too old":        {[]uint64{0, windowSize + 1, 2, 0}, windowSize + 2, 3},
		"jump":           {[]uint64{3, 10 * windowSize, 10*windowSize - 1}, 10*windowSize + 1, 3},
		"exactly around": {[]uint64{0, windowSize}, windowSize + 1, 2},
		"last number":    {[]uint64{0, ^uint64(0)}, 1, 1},
	} {
		var w window
		for _, s := range c.seqs {
			w.see(s)
		}
		if w.next != c.next || w.distinct != c.distinct {
			t.Errorf("%s: next %d, distinct %d", name, w.next, w.distinct)
		}
	}
}

// Whatever comes in whatever order, no more is counted than can have been sent.
func FuzzWindow(f *testing.F) {
	f.Add([]byte{0, 2, 1, 255, 255, 0})
	f.Fuzz(func(t *testing.T, steps []byte) {
		var w window
		var seq, fresh uint64
		for i, b := range steps {
			seq += uint64(b) * uint64(1+i%3*windowSize/100)
			if w.see(seq - min(seq, uint64(b%7))) {
				fresh++
			}
			if w.distinct > w.next {
				t.Fatalf("%d distinct below %d", w.distinct, w.next)
			}
		}
		if w.distinct != fresh {
			t.Fatalf("%d distinct, %d seen for the first time", w.distinct, fresh)
		}
	})
}

func BenchmarkWindow(b *testing.B) {
	var w window
	b.SetBytes(1472)
	b.ReportAllocs()
	for i := range b.N {
		w.see(uint64(i))
	}
}
