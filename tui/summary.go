package tui

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/rig"
	"github.com/ethtune/ethtune/tune/trial"
)

// Summary is what one run came to.
type Summary struct {
	Title    string
	Dialect  string
	Spec     metric.Spec   // the load as it was at the end
	Ran      time.Duration // since traffic first flowed
	Moved    float64       // bytes of payload, both directions
	Marks    []metric.Mark // closed ones, in order
	Verdicts []*trial.Verdict
	Kept     []knob.Result // what the user kept: From is the value at the start, Got the one that stays
}

// add takes a record of the feed.
func (s *Summary) add(rec metric.Record) {
	switch r := rec.(type) {
	case *metric.Frame:
		s.Ran = max(s.Ran, time.Duration(r.T*float64(time.Second)))
		s.Moved += r.RxBytes().Or(r.TxBytes().Or(0))
	case *metric.Mark:
		if r.Outcome != metric.Pending {
			s.Marks = append(s.Marks, *r)
		}
	case *trial.Verdict:
		s.Verdicts = append(s.Verdicts, r)
	}
}

func (s *Summary) finish(b *rig.Bench, spec metric.Spec) {
	s.Dialect, s.Spec = b.Granted().Dialect, spec
}

// withLoad are the knobs that went with the load's sockets: nothing of them is left to be put back. From is the value
// before the first turn, Got the one after the last.
func (s *Summary) withLoad() []knob.Result {
	var out []knob.Result
	at := make(map[string]int)
	for _, m := range s.Marks {
		if !knob.OfLoad(m.Knob) {
			continue
		}
		key := m.Side + ":" + m.Knob
		i, seen := at[key]
		if !seen {
			i = len(out)
			at[key] = i
			out = append(out, knob.Result{Setting: knob.Setting{Side: knob.Side(m.Side), Knob: m.Knob}, From: m.From})
		}
		out[i].Got = m.Got
	}
	return out
}

// turned reports whether any setting had another value for a time.
func (s *Summary) turned() bool {
	return slices.ContainsFunc(s.Marks, func(m metric.Mark) bool { return m.Knob != "" && m.From != m.Got })
}

// lasted writes a duration in its two largest units.
func lasted(d time.Duration) string {
	s := int(d.Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	}
	return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
}

// amount writes bytes in units of a thousand, as links are sold.
func amount(bytes float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB"}
	i := 0
	for bytes >= 1000 && i < len(units)-1 {
		bytes /= 1000
		i++
	}
	if i == 0 || bytes >= 100 {
		return fmt.Sprintf("%.0f %s", math.Floor(bytes), units[i])
	}
	return fmt.Sprintf("%.1f %s", bytes, units[i])
}
