package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ethtune/ethtune/engine"
	"github.com/ethtune/ethtune/engine/metric"
	"github.com/ethtune/ethtune/tune/rig"
)

const (
	// reviveFirst is when a lost peer is looked for first, and reviveMost how long the pauses become, each twice the one
	// before: what was turned that cut the path may be turned back at any time, at either end, and a cable plugged in again.
	reviveFirst = 500 * time.Millisecond
	reviveMost  = 4 * time.Second
	// reviveWithin bounds one look.
	reviveWithin = 2 * time.Second
)

// setEngine makes e the engine and looks after it. The caller holds mu.
func (l *Local) setEngine(e *engine.Engine) {
	l.eng = e
	l.wards.Go(func() { l.lookAfter(e) })
}

// lookAfter waits for e to lose its peer, takes up with that again, and lets the load flow that flowed before. It ends
// when that is done, or e is closed or no longer the engine.
func (l *Local) lookAfter(e *engine.Engine) {
	<-e.Done()
	said, pause := "", reviveFirst
	for e.Err() != nil && !errors.Is(e.Err(), engine.ErrDismissed) && l.engine() == e {
		ctx, cancel := context.WithTimeout(l.life, reviveWithin)
		next, err := e.Redial(ctx)
		cancel()
		if err == nil {
			err = l.takeUp(e, next)
			if err == nil {
				return
			}
			if why := err.Error(); why != said {
				said = why
				l.feed.Put(&metric.Note{T: e.Now(), Time: time.Now(), Text: "traffic does not go on: " + why})
			}
		}
		select {
		case <-time.After(pause):
			pause = min(2*pause, reviveMost)
		case <-l.life.Done():
			return
		}
	}
}

// takeUp lets the load flow in next and makes that the engine in lost's place, unless another is already. Where it cannot
// flow, next is closed and that is the error.
func (l *Local) takeUp(lost, next *engine.Engine) error {
	if _, err := next.Reopen(l.life); err != nil && l.life.Err() == nil {
		_ = next.Close() // nothing ever flowed in it
		return err
	}
	l.mu.Lock()
	ours := !l.closed && l.eng == lost
	if ours {
		l.setEngine(next)
		l.tellBack(next)
	}
	l.mu.Unlock()
	if !ours {
		return next.Close()
	}
	return nil
}

// running is the engine, which takes up with its peer again first where it has lost that; nil where there is none yet.
func (l *Local) running(ctx context.Context) (*engine.Engine, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runningLocked(ctx)
}

// runningLocked is running for one who holds mu.
func (l *Local) runningLocked(ctx context.Context) (*engine.Engine, error) {
	if l.closed {
		return nil, fmt.Errorf("%w: it is closed", rig.ErrLost)
	}
	if l.eng == nil || l.eng.Err() == nil {
		return l.eng, nil
	}
	next, err := l.eng.Redial(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", rig.ErrPeer, err)
	}
	l.setEngine(next)
	l.tellBack(next)
	return next, nil
}

// tellBack says that the peer was taken up with again.
func (l *Local) tellBack(e *engine.Engine) {
	l.feed.Put(&metric.Note{T: e.Now(), Time: time.Now(), Text: "the peer is back"})
}
