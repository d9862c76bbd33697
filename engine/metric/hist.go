package metric

import (
	"encoding/json"
	"fmt"
	"math/bits"
)

// subBits gives 16 buckets an octave: a bucket is at most 1/16 of its value wide, so a quantile is right to 6 %.
const (
	subBits     = 4
	subCount    = 1 << subBits
	histOctaves = 40 - subBits // up to 2^40 ns, 18 minutes
	histBuckets = (histOctaves + 1) * subCount
)

// Hist counts durations in nanoseconds in logarithmic buckets. It can be merged without loss, which a quantile cannot.
// The zero Hist is empty and ready. It is not safe for concurrent use.
type Hist struct {
	counts [histBuckets]uint32
	n      uint64
	max    int64
}

func bucketOf(ns int64) int {
	if ns < 0 {
		ns = 0
	}
	u := uint64(ns)
	if u < subCount {
		return int(u)
	}
	shift := bits.Len64(u) - subBits - 1
	i := (shift+1)<<subBits + int(u>>shift) - subCount
	return min(i, histBuckets-1)
}

// bucketMid is the middle of bucket i in nanoseconds.
func bucketMid(i int) int64 {
	if i < subCount {
		return int64(i)
	}
	shift := i>>subBits - 1
	lo := int64(subCount+i&(subCount-1)) << shift
	return lo + int64(1)<<shift/2
}

// Add counts one duration of ns nanoseconds. Negative counts as 0.
func (h *Hist) Add(ns int64) {
	h.counts[bucketOf(ns)]++
	h.n++
	h.max = max(h.max, ns)
}

// N is how many were counted.
func (h *Hist) N() uint64 { return h.n }

// Reset empties it.
func (h *Hist) Reset() { *h = Hist{} }

// Merge adds what o counted.
func (h *Hist) Merge(o *Hist) {
	if o == nil || o.n == 0 {
		return
	}
	for i, c := range o.counts {
		h.counts[i] += c
	}
	h.n += o.n
	h.max = max(h.max, o.max)
}

// Quantile returns the q-quantile (0..1) in nanoseconds, the middle of its bucket and never above the maximum;
// false where nothing was counted.
func (h *Hist) Quantile(q float64) (int64, bool) {
	if h == nil || h.n == 0 {
		return 0, false
	}
	rank := min(uint64(q*float64(h.n)), h.n-1)
	var seen uint64
	for i, c := range h.counts {
		if seen += uint64(c); seen > rank {
			return min(bucketMid(i), h.max), true
		}
	}
	return h.max, true
}

// Max returns the largest duration in nanoseconds; false where nothing was counted.
func (h *Hist) Max() (int64, bool) {
	if h == nil || h.n == 0 {
		return 0, false
	}
	return h.max, true
}

// histJSON is the sparse form on the stream: bucket, count, bucket, count.
type histJSON struct {
	Max int64    `json:"max"`
	B   []uint32 `json:"b"`
}

// MarshalJSON writes only the buckets that counted something.
func (h *Hist) MarshalJSON() ([]byte, error) {
	out := histJSON{Max: h.max}
	for i, c := range h.counts {
		if c > 0 {
			out.B = append(out.B, uint32(i), c)
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads the sparse form and refuses buckets that do not exist.
func (h *Hist) UnmarshalJSON(b []byte) error {
	var in histJSON
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	if len(in.B)%2 != 0 || len(in.B) > 2*histBuckets {
		return fmt.Errorf("histogram: %d numbers", len(in.B))
	}
	*h = Hist{max: in.Max}
	for i := 0; i < len(in.B); i += 2 {
		if in.B[i] >= histBuckets {
			return fmt.Errorf("histogram: bucket %d", in.B[i])
		}
		h.counts[in.B[i]] += in.B[i+1]
		h.n += uint64(in.B[i+1])
	}
	return nil
}
