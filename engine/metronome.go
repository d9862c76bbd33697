package engine

import "time"

// metronome is an absolute schedule of ticks: a tick that comes late does not move the next.
type metronome struct {
	next  time.Time
	every time.Duration
}

// advance takes note of a tick that came at now and returns how many were late: those due more than half an interval
// ago, including those that were passed over.
func (m *metronome) advance(now time.Time) int {
	late := 0
	for !m.next.After(now) {
		if now.Sub(m.next) > m.every/2 {
			late++
		}
		m.next = m.next.Add(m.every)
	}
	return late
}

// wait is how long it is from now to the next tick.
func (m *metronome) wait(now time.Time) time.Duration { return max(0, m.next.Sub(now)) }
