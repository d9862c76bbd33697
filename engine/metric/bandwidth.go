package metric

// Bandwidth picks the rate of a Frame that is drawn and judged: what arrived. Of a far end that does not say what arrives
// there, as a stock peer that receives, it is what was acknowledged or sent; of one that has just done so, silence is a gap.
// The zero value is ready.
type Bandwidth struct{ out, in hearing }

// hearing is when it was last said what arrives one way.
type hearing struct {
	ever bool
	at   float64 // s, as [Frame.T]
}

// silentFor is how long, in seconds, a far end that says what arrives may not say it: a peer that tells with each of its
// tests does so every second or two.
const silentFor = 3

// Of is the rate in bit/s, and whether it is of what arrived.
func (b *Bandwidth) Of(f *Frame) (bps Num, received bool) {
	h := &b.out
	if f.Dir == In {
		h = &b.in
	}
	if !f.RxBps.IsZero() {
		*h = hearing{true, f.T}
	}
	if h.ever && f.T-h.at <= silentFor {
		return f.RxBps, true
	}
	return f.TxBps, false
}
