package metric

import "testing"

func TestBandwidth(t *testing.T) {
	var b Bandwidth
	for i, c := range []struct {
		f        Frame
		want     Num
		received bool
	}{
		{Frame{T: 0.1, Dir: Out, TxBps: N(5)}, N(5), false},
		{Frame{T: 0.1, Dir: In, RxBps: N(7), TxBps: N(8)}, N(7), true},
		{Frame{T: 0.2, Dir: Out, TxBps: N(6)}, N(6), false},
		{Frame{T: 0.3, Dir: Out, TxBps: N(5), RxBps: N(4)}, N(4), true},
		{Frame{T: 0.4, Dir: Out, TxBps: N(5)}, Num{}, true},
		{Frame{T: 3.1, Dir: In}, Num{}, true},
		{Frame{T: 3.4, Dir: Out, TxBps: N(5)}, N(5), false}, // it says so no more
		{Frame{T: 3.5, Dir: Out, TxBps: N(5), RxBps: N(3)}, N(3), true},
	} {
		if got, received := b.Of(&c.f); got != c.want || received != c.received {
			t.Errorf("%d: %v %v", i, got, received)
		}
	}
}
