package flow

import "testing"

const ms = 1_000_000

func TestSchedule(t *testing.T) {
	var s schedule
	s.rebase(0, 0, 8_000_000, 1000) // one datagram a millisecond
	for _, c := range []struct {
		now  int64
		sent uint64
		due  uint64
	}{
		{-1, 0, 0}, {0, 0, 1}, {0, 1, 0}, {ms - 1, 1, 0}, {ms, 1, 1}, {10 * ms, 1, 10}, {60 * ms, 0, 61},
	} {
		if n := s.due(c.now, c.sent); n != c.due {
			t.Errorf("due at %d with %d sent: %d, want %d", c.now, c.sent, n, c.due)
		}
	}
	if at := s.at(3); at != 3*ms {
		t.Errorf("datagram 3 is due at %d", at)
	}
}

func TestScheduleGivesUpWhatLiesBack(t *testing.T) {
	var s schedule
	s.rebase(0, 0, 8_000_000, 1000)
	if n := s.due(1000*ms, 0); n != maxBatch || s.missed != 1001-maxBatch {
		t.Errorf("due %d, missed %d", n, s.missed)
	}
	if n := s.due(1001*ms, maxBatch); n != 1 {
		t.Errorf("the next millisecond: %d", n)
	}
}

// Whatever the rate, after an hour not one datagram is too few or too many, and datagram n is due when at says.
func TestScheduleIsExact(t *testing.T) {
	for _, rate := range []int64{1, 999, 102_400, 100e6, 399_999_999, 1e9, 1e12} {
		var s schedule
		s.rebase(0, 0, rate, 1472)
		s.burst = 1 << 62
		const hour = 3600 * 1000 * ms
		n := s.due(hour, 0)
		if at := s.at(n - 1); at > hour {
			t.Errorf("rate %d: the last of %d is due at %d", rate, n, at)
		}
		if at := s.at(n); at <= hour {
			t.Errorf("rate %d: one more than %d is due at %d", rate, n, at)
		}
	}
}

func TestScheduleRebase(t *testing.T) {
	var s schedule
	s.rebase(0, 0, 8_000_000, 1000)
	s.rebase(5*ms, 6, 16_000_000, 1000)
	if n := s.due(5*ms, 6); n != 1 {
		t.Errorf("at once: %d", n)
	}
	if n := s.due(6*ms, 6); n != 3 {
		t.Errorf("a millisecond later: %d", n)
	}
}

func TestScheduleSurvivesAnyNumbers(t *testing.T) {
	var s schedule
	s.rebase(0, 0, 1, 65507)
	if at := s.at(1 << 62); at < 0 {
		t.Errorf("at %d", at)
	}
	s.rebase(0, 0, 1e12, 32)
	if n := s.due(1<<62, 0); n != s.burst {
		t.Errorf("due %d", n)
	}
}
