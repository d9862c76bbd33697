package chart

import "math"

// Quantile returns the q-quantile of v, 0 <= q <= 1, interpolated between the two neighbours in rank (R's type 7); NaN
// when v is empty. v must hold no NaN, as from [Series.Range]. It reorders v, allocates nothing and takes linear time.
func Quantile(v []float64, q float64) float64 {
	if len(v) == 0 || q != q {
		return math.NaN()
	}
	pos := min(max(q, 0), 1) * float64(len(v)-1)
	k := int(pos)
	sel(v, k)
	if k == len(v)-1 || pos == float64(k) {
		return v[k]
	}
	next := v[k+1]
	for _, x := range v[k+2:] {
		next = min(next, x)
	}
	part := pos - float64(k)
	return v[k]*(1-part) + next*part
}

// Median is the 0.5-quantile.
func Median(v []float64) float64 { return Quantile(v, 0.5) }

// sel is Hoare's selection: afterwards v[k] is what sorting would put there, with nothing greater before it and nothing
// smaller after it. The pivot is the median of three, so values that come sorted cost no more.
func sel(v []float64, k int) {
	lo, hi := 0, len(v)-1
	for lo < hi {
		a, b, c := v[lo], v[lo+(hi-lo)/2], v[hi]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := lo, hi
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return
		}
	}
}
