package pane

import (
	"fmt"
	"math"
	"strings"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/knob"
	"github.com/ethtune/ethtune/tune/trial"
)

// effect is what is known of a turn's doing on one metric, ready to be shown.
type effect struct {
	forms []string // longest first; the first that fits is shown
	lamp  Lamp
	word  string // beside the number, where there is a column for it
}

// alone are the forms where there is no column for the word, which only a lamp can replace.
func (e effect) alone() []string {
	if e.lamp != Dark || e.word == "" {
		return e.forms
	}
	for _, f := range e.forms {
		if _, half, ok := strings.Cut(f, "±"); ok {
			return []string{e.word + " ±" + half, e.word}
		}
	}
	return []string{e.word}
}

// effectOf puts a verdict into words.
func effectOf(v *trial.Verdict) effect {
	e := effect{lamp: Dark, forms: deltas(v)}
	switch v.Answer {
	case trial.Better:
		e.lamp, e.word = Better, "better"
	case trial.Worse:
		e.lamp, e.word = Worse, "worse"
	case trial.NoChange:
		e.forms = []string{"no change"}
		if half := halfWidth(v); half != "" {
			e.forms = []string{"no change ±" + half, "no change"}
		}
	case trial.Unsure:
		e.word = "unsure"
		if v.Reason == "drifting before" {
			e.forms, e.word = []string{"drifting"}, ""
		}
	}
	return e
}

// deltas are the forms of the number. Loss is shown as it was and is: a percentage of a percentage is not understood, and
// there is none where nothing was lost before.
func deltas(v *trial.Verdict) []string {
	if v.Metric == trial.Loss {
		if v.Answer == trial.Unsure {
			return []string{"unsure"}
		}
		return []string{lossChange(v.Before, v.After)}
	}
	d, ok := v.DeltaPct.Get()
	if !ok {
		return []string{none}
	}
	short := fmt.Sprintf("%+.0f %%", d)
	if half := halfWidth(v); half != "" {
		return []string{short + " ±" + half, short}
	}
	return []string{short}
}

// halfWidth is half the 95 % interval in whole percent, at least 1: a narrower one would claim more than ten samples can.
// The interval of a ratio is longer upwards than downwards. Where the answer is that something changed it is therefore how
// far the interval reaches towards no change: +16 % ±25 would take back what the answer says.
func halfWidth(v *trial.Verdict) string {
	if len(v.CI95) != 2 {
		return ""
	}
	half := (v.CI95[1] - v.CI95[0]) / 2
	if d, ok := v.DeltaPct.Get(); ok && (v.Answer == trial.Better || v.Answer == trial.Worse) {
		half = d - v.CI95[0]
		if d < 0 {
			half = v.CI95[1] - d
		}
	}
	return fmt.Sprintf("%.0f", math.Max(1, math.Round(half)))
}

// turned is one mark and what became of it.
type turned struct {
	mark     metric.Mark
	verdicts map[string]*trial.Verdict // by metric
	with     int                       // the later mark that it was judged together with; 0 = none
}

// moved reports whether anything is different since the mark.
func moved(m *metric.Mark) bool { return m.Got != m.From || len(m.Also) > 0 }

// effect is what to show for one metric at the time now, in seconds since traffic flowed.
func (t *turned) effect(name string, now float64) effect {
	if v := t.verdicts[name]; v != nil {
		return effectOf(v)
	}
	switch {
	case t.mark.Outcome == metric.Pending:
		return effect{forms: []string{"waiting"}, lamp: Pending}
	case t.mark.Outcome == string(knob.Refused) && !moved(&t.mark):
		return effect{forms: []string{"refused"}, lamp: Failed}
	case !moved(&t.mark):
		return effect{forms: []string{"unchanged"}}
	case t.with > 0:
		return effect{forms: []string{fmt.Sprintf("judged with %d", t.with), fmt.Sprintf("with %d", t.with)}}
	}
	left := math.Ceil(t.mark.T + trial.Settle + trial.After - now)
	if left < 1 {
		return effect{forms: []string{"measuring"}}
	}
	return effect{forms: []string{fmt.Sprintf("measuring %.0f s", left), fmt.Sprintf("%.0f s", left)}}
}

// Told is a verdict as plain text: its number or words, and the sign of its lamp.
func Told(v *trial.Verdict) (text, sign string) {
	e := effectOf(v)
	sign, _ = e.lamp.look()
	return e.alone()[0], sign
}
