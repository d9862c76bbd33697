package term

import "time"

// pace decides which frames are drawn. It knows no terminal and no clock: both come in.
type pace struct {
	frame time.Duration // of the frame clock
	share float64       // bytes/s we allow ourselves; 0 for any number

	slow     int  // frames are drawn every 1<<slow ticks
	good     int  // frames in a row that went well
	patience int  // how many it takes to speed up
	late     bool // the last write took too long

	drawn  time.Time // the last frame
	credit float64   // bytes; below 0 the line has had its share
	filled time.Time // when credit was last added to
}

const (
	defaultFrame = 250 * time.Millisecond
	slowest      = 2   // 4 frames a second become 2 and 1.
	leastGood    = 8   // 2 s at full rate
	mostGood     = 128 // A line that cannot keep up is tried again every two minutes at most.

	// A byte on a serial line is ten bits with its start and stop bit (8N1, what consoles use).
	bitsAByte = 10
	lineShare = 0.6
)

func newPace(frame time.Duration, baud int) pace {
	if frame <= 0 {
		frame = defaultFrame
	}
	return pace{frame: frame, share: lineShare * float64(max(baud, 0)) / bitsAByte, patience: leastGood}
}

func (p *pace) interval() time.Duration { return p.frame << p.slow }

// wrote takes note of n bytes that took d to write.
func (p *pace) wrote(n int, d time.Duration) {
	p.credit -= float64(n)
	if d > p.frame/2 {
		p.late = true
	}
}

func (p *pace) ready(now time.Time, busy bool) bool {
	p.refill(now)
	// Ticks come early and late: one that is early by less than half is this frame's.
	if !p.drawn.IsZero() && now.Sub(p.drawn) < p.interval()-p.frame/2 {
		return false
	}
	if busy || p.late || p.share > 0 && p.credit < 0 {
		p.late = false
		p.slower()
		return false
	}
	p.drawn = now
	p.faster()
	return true
}

// refill adds what the line could have taken since; at most the share of one second, so that a pause does not allow a
// flood.
func (p *pace) refill(now time.Time) {
	if !p.filled.IsZero() {
		p.credit += p.share * max(now.Sub(p.filled), 0).Seconds()
	}
	p.credit = min(p.credit, p.share)
	p.filled = now
}

func (p *pace) slower() {
	if p.slow < slowest {
		p.slow++
		// Each fall makes the next try wait twice as long, so that a line just too slow does not swing.
		p.patience = min(2*p.patience, mostGood)
	}
	p.good = 0
}

func (p *pace) faster() {
	if p.good++; p.good < p.patience {
		return
	}
	p.good = 0
	if p.slow > 0 {
		p.slow--
		return
	}
	p.patience = leastGood
}
