package main

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/ethtune/ethtune/tune/knob"
)

// turn is a setting at a time of a headless run.
type turn struct {
	at  time.Duration // since traffic flowed
	set knob.Setting
}

// parseTurns reads --set arguments KNOB=VALUE@SECONDS and checks that each can be done in a run of length t (0 =
// endless). They come back in the order of time; those of one time keep theirs.
func parseTurns(args []string, t time.Duration) ([]turn, error) {
	var turns []turn
	for _, a := range args {
		i := strings.LastIndexByte(a, '@')
		if i < 0 {
			return nil, usage("--set %q: no @SECONDS; for example --set gro=off@3", a)
		}
		at, err := parseSeconds(a[i+1:])
		if err != nil {
			return nil, usage("--set %q: time %q: %s", a, a[i+1:], err)
		}
		if t > 0 && at >= t {
			return nil, usage("--set %q: the run ends at %v", a, t)
		}
		s, err := knob.ParseSetting(a[:i])
		if err != nil {
			return nil, usage("--set %q: %s", a, oneLine(err))
		}
		if ok, why := knob.Settable(s.Knob); !ok {
			return nil, usage("--set %q: %s", a, why)
		}
		turns = append(turns, turn{at, s})
	}
	slices.SortStableFunc(turns, func(x, y turn) int { return cmp.Compare(x.at, y.at) })
	return turns, nil
}
