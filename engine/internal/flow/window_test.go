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
		"beyond 32 bits": {[]uint64{1<<32 - 1, 1<<32 + 1, 1 << 32, 1 << 32}, 1<<32 + 2, 3},
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

func TestWindowOrder(t *testing.T) {
	for name, c := range map[string]struct {
		seqs                 []uint64
		late, extent, copies uint64
	}{
		"in order":          {[]uint64{0, 1, 2}, 0, 0, 0},
		"a gap is no order": {[]uint64{0, 5, 6}, 0, 0, 0},
		"reordered":         {[]uint64{0, 3, 1, 2, 4}, 2, 2, 0},
		"far behind":        {[]uint64{9, 0, 8}, 2, 9, 0},
		"copied":            {[]uint64{0, 1, 1, 0}, 0, 0, 2},
		"too late to tell":  {[]uint64{0, windowSize + 1, 0}, 0, 0, 1},
	} {
		var w window
		for _, s := range c.seqs {
			w.see(s)
		}
		if w.late != c.late || w.extent != c.extent || w.copies != c.copies {
			t.Errorf("%s: late %d, extent %d, copies %d", name, w.late, w.extent, w.copies)
		}
	}
}

// Whatever comes in whatever order, it is fresh if and only if it did not come before, as far back as the window reaches.
func FuzzWindow(f *testing.F) {
	f.Add([]byte{0, 2, 1, 255, 255, 0})
	f.Add([]byte{1, 1, 1, 63, 64, 65, 7, 14, 21})
	f.Fuzz(func(t *testing.T, steps []byte) {
		var w window
		came := make(map[uint64]bool)
		var seq, next uint64
		for i, b := range steps {
			seq += uint64(b) * uint64(1+i%3*windowSize/100)
			s := seq - min(seq, uint64(b%7)*uint64(i%5))
			old := s < next && next-s > windowSize
			if got, want := w.see(s), !old && !came[s]; got != want {
				t.Fatalf("%d of %d: %v", s, next, got)
			}
			came[s], next = true, max(next, s+1)
			if w.next != next || w.distinct > next || w.distinct+w.copies != uint64(i)+1 {
				t.Fatalf("next %d of %d, %d distinct, %d copies", w.next, next, w.distinct, w.copies)
			}
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
