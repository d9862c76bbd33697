package flow

import (
	"sync"
	"sync/atomic"

	"github.com/ethtune/ethtune/engine/metric"
)

// goal is what a running stream is to do. Aim replaces it as a whole, and the stream's thread takes up the new one before
// its next call.
type goal struct {
	rate  int64 // bit/s of payload; 0 = as fast as it goes
	calls metric.Calls
	epoch uint32 // how often it was changed
}

// aim hands goals to a thread.
type aim struct {
	mu  sync.Mutex // of who aims
	now atomic.Pointer[goal]
}

func newGoal(c Config) *goal { return &goal{rate: c.Rate, calls: c.Calls} }

// set gives a new goal, unless nothing changes.
func (a *aim) set(bps int64, c metric.Calls) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if old := a.now.Load(); old.rate != bps || old.calls != c {
		a.now.Store(&goal{rate: bps, calls: c, epoch: old.epoch + 1})
	}
}
