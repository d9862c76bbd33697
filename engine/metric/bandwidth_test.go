package metric

import "testing"

func TestBandwidth(t *testing.T) {
	var b Bandwidth
	for i, c := range []struct {
		f        Frame
		want     Num
		received bool
	}{
		{Frame{Dir: Out, TxBps: N(5)}, N(5), false},
		{Frame{Dir: In, RxBps: N(7), TxBps: N(8)}, N(7), true},
		{Frame{Dir: Out, TxBps: N(6)}, N(6), false},
		{Frame{Dir: Out, TxBps: N(5), RxBps: N(4)}, N(4), true},
		{Frame{Dir: Out, TxBps: N(5)}, Num{}, true},
		{Frame{Dir: In}, Num{}, true},
	} {
		if got, received := b.Of(&c.f); got != c.want || received != c.received {
			t.Errorf("%d: %v %v", i, got, received)
		}
	}
}
