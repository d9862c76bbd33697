package tui

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/rig"
)

// most is how many records one message carries at most, so that a burst does not hold up the keys.
const most = 1000

// recordsMsg is what came since the last one, in order.
type recordsMsg struct {
	recs []metric.Record
	at   time.Time
}

// lostMsg says that one end is gone, or the whole feed.
type lostMsg struct{ err error }

// watchEnds waits until an end of the Bench is lost.
func watchEnds(ctx context.Context, b *rig.Bench) tea.Cmd {
	return func() tea.Msg {
		select {
		case <-b.Done():
			return lostMsg{b.Lost()}
		case <-ctx.Done():
			return nil
		}
	}
}

// pull waits for the next record and takes what is queued behind it. The model asks again once it has dealt with them:
// there is never more than one message of records under way.
func pull(ctx context.Context, r *metric.Reader) tea.Cmd {
	return func() tea.Msg {
		rec, err := r.Next(ctx)
		if err != nil {
			return lostMsg{err}
		}
		recs := []metric.Record{rec}
		queued, stop := context.WithCancel(ctx)
		stop() // Next still gives what is there, but does not wait.
		for len(recs) < most {
			rec, err := r.Next(queued)
			if err != nil {
				break
			}
			recs = append(recs, rec)
		}
		return recordsMsg{recs: recs, at: time.Now()}
	}
}

// tickMsg says that it is time for a frame.
type tickMsg time.Time

func tick(every time.Duration) tea.Cmd {
	return tea.Tick(every, func(t time.Time) tea.Msg { return tickMsg(t) })
}

// settledMsg says that a weak console may be drawn anew.
type settledMsg struct{}
