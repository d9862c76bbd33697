package metric

// Bandwidth picks the rate of a Frame that is drawn and judged: what arrived. Of a far end that has never said what arrives
// there, as a stock peer that receives, it is what was acknowledged or sent; once it has, silence is a gap. The zero value is
// ready.
type Bandwidth struct{ out, in bool } // whether it was ever said what arrives that way

// Of is the rate in bit/s, and whether it is of what arrived.
func (b *Bandwidth) Of(f *Frame) (bps Num, received bool) {
	heard := &b.out
	if f.Dir == In {
		heard = &b.in
	}
	*heard = *heard || !f.RxBps.IsZero()
	if *heard {
		return f.RxBps, true
	}
	return f.TxBps, false
}
