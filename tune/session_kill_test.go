package tune

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ethtune/ethtune/tune/knob"
)

// A victim is this test binary started again: it turns knobs of etn0 in its namespace until it is killed, or ends by itself
// after that many turns.
const (
	victimDir  = "ETHTUNE_TEST_VICTIM_DIR"
	victimSeed = "ETHTUNE_TEST_VICTIM_SEED"
	victimMax  = 60
)

// TestVictim is no test of its own: without the variables it has nothing to do.
func TestVictim(t *testing.T) {
	dir := os.Getenv(victimDir)
	if dir == "" {
		return
	}
	seed, err := strconv.ParseUint(os.Getenv(victimSeed), 10, 64)
	must(t, err)
	rng := rand.New(rand.NewPCG(seed, 300))
	j, err := OpenJournal(dir)
	must(t, err)
	s, err := j.Begin(KindSession)
	must(t, err)
	where, err := Here("etn0")
	must(t, err)
	families, release, err := Kernel("etn0")
	must(t, err)
	defer release()
	tuner := NewJournaled(s, where, families...)
	os.Stdout.WriteString("up\n")
	for range 1 + rng.IntN(victimMax) {
		apply(t, tuner, randomKernelTurn(rng))
	}
	undo(t, tuner)
	must(t, s.Close(), j.Close())
}

// randomKernelTurn is of what a veth has, with cascades and without.
func randomKernelTurn(rng *rand.Rand) knob.Setting {
	onOff := []string{"on", "off"}
	choices := []struct {
		name   string
		values []string
	}{
		{"feature.tx", onOff}, {"feature.tx-scatter-gather", onOff}, {"feature.tso", onOff},
		{"feature.tx-generic-segmentation", onOff}, {"feature.rx-gro", onOff}, {"feature.tx-nocache-copy", onOff},
		{"feature.tx-tcp6-segmentation", onOff},
		{"sysctl.net.ipv4.tcp_sack", []string{"0", "1"}}, {lowat, []string{"16384", "131072"}},
		{"dev.mtu", []string{"1400", "1500", "9000"}}, {"dev.tx_queue_len", []string{"1", "500", "1000"}},
	}
	c := choices[rng.IntN(len(choices))]
	return knob.Setting{Knob: c.name, Value: c.values[rng.IntN(len(c.values))]}
}

// TestKilledAtAnyPoint: processes that turn the same real interface are killed at random, two at a time; what ethtool and
// ip say after restore is what they said first, requests included.
func TestKilledAtAnyPoint(t *testing.T) {
	inNetns(t)
	run(t, "ethtool", "-K", "etn0", "tso", "off", "tx", "off") // found with requests beside the values
	run(t, "ethtool", "-K", "etn0", "gro", "on")
	look := func() string {
		return run(t, "ethtool", "-k", "etn0") + run(t, "ip", "-d", "link", "show", "etn0") +
			// What is available is the machine's, and more with every module that others have loaded.
			run(t, "sh", "-c", "grep -s . /proc/sys/net/ipv4/tcp_* /proc/sys/net/ipv4/udp_* | grep -v _available_")
	}
	found := look()
	dir := filepath.Join(t.TempDir(), "state")
	j, err := OpenJournal(dir)
	must(t, err)
	defer j.Close()
	killed, stale := 0, 0
	for round := range 25 {
		rng := rand.New(rand.NewPCG(uint64(round), 9))
		var victims []*victim
		for i := range 2 {
			victims = append(victims, startVictim(t, dir, uint64(2*round+i)))
		}
		for _, v := range victims {
			// They run for 60 ms or so; time itself is the random point here, whatever the machine is busy with.
			if v.endWithin(time.Duration(rng.IntN(60)) * time.Millisecond) {
				killed++
			}
		}
		left, err := j.Stale()
		if err != nil && !errors.Is(err, ErrTorn) {
			t.Fatal(err)
		}
		stale += len(left)
		results, err := j.Restore(t.Context(), RestoreOptions{}, Open)
		if err != nil && (!errors.Is(err, ErrTorn) || errors.Is(err, ErrNotRestored)) { // killed within a write
			t.Fatalf("round %d: %v, %+v", round, err, results)
		}
		if now := look(); now != found {
			t.Fatalf("round %d: after %+v\nfound\n%s\nnow\n%s", round, results, found, now)
		}
	}
	if killed == 0 || stale == 0 {
		t.Errorf("%d killed, %d knobs left behind: nothing was proved", killed, stale)
	}
	t.Logf("%d of 50 killed, %d knobs left behind and put back", killed, stale)
}

type victim struct {
	cmd   *exec.Cmd
	ended chan error
}

func startVictim(t *testing.T, dir string, seed uint64) *victim {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	cmd := exec.CommandContext(ctx, exe, "-test.run=^TestVictim$")
	cmd.Env = append(os.Environ(), victimDir+"="+dir, victimSeed+"="+strconv.FormatUint(seed, 10))
	out, err := cmd.StdoutPipe()
	must(t, err, cmd.Start())
	_, err = io.ReadFull(out, make([]byte, len("up\n")))
	must(t, err)
	v := &victim{cmd, make(chan error, 1)}
	go func() {
		defer cancel()
		io.Copy(io.Discard, out)
		v.ended <- cmd.Wait()
	}()
	return v
}

// endWithin kills the victim unless it ends in time, and says whether it did.
func (v *victim) endWithin(d time.Duration) (killed bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-v.ended:
		return false
	case <-timer.C:
		v.cmd.Process.Kill()
		<-v.ended
		return true
	}
}
