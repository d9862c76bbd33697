package native

import (
	"time"

	"github.com/ethtune/ethtune/engine/internal/dialect"
	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// report sends the stats, also where there are no streams: they are the far end's sign of life. Of a session that the house
// ends it sends the last word.
func (s *session) report() {
	tick := time.NewTicker(statsInterval)
	defer tick.Stop()
	for {
		select {
		case <-s.done:
			return
		case why := <-s.kicks:
			_ = s.ctl.send(&line{Type: typeRefused, Error: why}) // of no request, so it is of all
			s.over(why)
			return
		case <-tick.C:
		}
		s.tellStats()
	}
}

// tellStats reads the session's counters and sends them.
func (s *session) tellStats() {
	s.telling.Lock()
	defer s.telling.Unlock()
	st := &dialect.Stats{Jitter: &metric.Hist{}}
	st.Load = s.ledger.Read(st.Jitter)
	st.Mono = flow.Mono()
	if st.Jitter.N() == 0 {
		st.Jitter = nil
	}
	if n, ok := s.drops.Dropped(); ok {
		st.Softnet = &n
	}
	if err := s.ledger.Broken(); err != nil {
		st.Broken = err.Error()
	}
	s.reply(&line{Type: typeStats, Stats: st})
}
