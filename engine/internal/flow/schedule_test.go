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

// What a thread could not send in time follows at twice the rate, after what one batch holds; what lies further back
// is given up.
func TestScheduleCatchesUp(t *testing.T) {
	var s schedule
	s.rebase(0, 0, 80_000_000, 1000) // ten datagrams a millisecond; a batch is 6.4 ms
	now, sent := int64(0), s.due(0, 0)
	now = 15 * ms
	if n := s.due(now, sent); n != maxBatch || s.missed != 0 {
		t.Fatalf("at once: %d, missed %d", n, s.missed)
	}
	sent += maxBatch
	if n := s.due(now, sent); n != 0 {
		t.Errorf("right after: %d", n)
	}
	for step := range 1000 {
		now = max(now, s.at(sent))
		n := s.due(now, sent)
		if n == 0 || n > maxBatch {
			t.Fatalf("step %d: at %d %d are due", step, now, n)
		}
		sent += n
		if line := uint64(now/ms)*10 + 1; sent > line+10 {
			t.Fatalf("%d sent at %d ms", sent, now/ms)
		}
	}
	if s.missed != 0 {
		t.Errorf("missed %d", s.missed)
	}
	// A second later.
	now += 1000 * ms
	if n := s.due(now, sent); n != maxBatch || s.missed < 9700 || s.missed > 10_001-s.owed {
		t.Errorf("due %d, missed %d", n, s.missed)
	}
}

// At twice the rate means: a late thread never sends more in a time than a batch and twice what the rate is.
func TestScheduleCatchesUpSlowly(t *testing.T) {
	var s schedule
	s.rebase(0, 0, 1e9, 1250) // 100 a millisecond
	begin := int64(19 * ms)
	var sent uint64
	for now := begin; now < begin+40*ms; now += 10_000 {
		sent += s.due(now, sent)
		if most := 100 + uint64(now-begin)/ms*200 + 200; sent > most {
			t.Fatalf("%d sent %d ns after it woke", sent, now-begin)
		}
	}
	if sent != 5900 || s.missed != 0 {
		t.Errorf("sent %d, missed %d", sent, s.missed)
	}
}

// Whatever the rate, after an hour not one datagram is too few or too many, and datagram n is due when at says.
func TestScheduleIsExact(t *testing.T) {
	for _, rate := range []int64{1, 999, 102_400, 100e6, 399_999_999, 1e9, 1e12} {
		var s schedule
		s.rebase(0, 0, rate, 1472)
		s.burst, s.owed = 1<<62, 1<<62
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
