package rig

import "time"

// flowClock maps this process's clock to the near end's seconds since traffic flowed. A record can only arrive late,
// so the smallest difference ever seen is the closest.
type flowClock struct {
	epoch time.Time
}

func (c *flowClock) saw(now time.Time, t float64) {
	e := now.Add(-time.Duration(t * float64(time.Second)))
	if c.epoch.IsZero() || e.Before(c.epoch) {
		c.epoch = e
	}
}

func (c *flowClock) at(now time.Time) float64 {
	if c.epoch.IsZero() {
		return 0
	}
	return now.Sub(c.epoch).Seconds()
}
