package iperf2

import (
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/internal/flow"
	"github.com/ethtune/ethtune/engine/metric"
)

// volume is a [flow.Sender] of so many bytes over TCP and no more, which a client may ask for instead of a time. It is not a
// traffic thread of package flow, for which an end that is known before has no use.
type volume struct {
	fd   int
	buf  []byte
	left uint64

	written atomic.Uint64
	stop    atomic.Bool
	start   sync.Once
	close   sync.Once
	done    chan struct{}
	err     error // good once done is closed
}

// volumeTurn bounds one blocked write, in microseconds, so that the end is seen soon.
const volumeTurn = 20_000

// newVolume takes over the connected socket fd unless there is an error.
func newVolume(fd int, c flow.Config, bytes uint64) (*volume, error) {
	tv := unix.Timeval{Usec: volumeTurn}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &tv); err != nil {
		return nil, os.NewSyscallError("setsockopt SO_SNDTIMEO", err)
	}
	v := &volume{fd: fd, buf: make([]byte, c.Size), left: bytes, done: make(chan struct{})}
	return v, v.Aim(c.Rate, c.Calls)
}

// Start lets it run.
func (v *volume) Start() {
	v.start.Do(func() {
		go func() {
			defer close(v.done)
			v.err = v.send()
		}()
	})
}

func (v *volume) send() error {
	for v.left > 0 && !v.stop.Load() {
		n, err := unix.Write(v.fd, v.buf[:min(uint64(len(v.buf)), v.left)])
		switch {
		case err == nil:
			v.left -= uint64(n)
			v.written.Add(uint64(n))
		case err != unix.EAGAIN && err != unix.EINTR:
			return os.NewSyscallError("write", err)
		}
	}
	return nil
}

// Aim paces it to bps bit/s of payload; 0 leaves it as it is.
func (v *volume) Aim(bps int64, _ metric.Calls) error {
	if bps <= 0 {
		return nil
	}
	return os.NewSyscallError("setsockopt SO_MAX_PACING_RATE",
		unix.SetsockoptUint64(v.fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, uint64(max(bps/8, 1))))
}

// Tune changes nothing: its guest has no words for it.
func (v *volume) Tune(metric.Socket) (metric.GrantedSocket, error) {
	return flow.Granted(v.fd, metric.TCP)
}

// Place changes nothing, for the same reason: it runs where the scheduler has it.
func (v *volume) Place(string) error { return nil }

// CPU is not known of a goroutine.
func (v *volume) CPU() (int, bool) { return 0, false }

// Tx is what was written, which may not have been acknowledged.
func (v *volume) Tx() flow.Tx { return flow.Tx{Bytes: v.written.Load()} }

// Done is closed when all is written, or no more will be.
func (v *volume) Done() <-chan struct{} { return v.done }

// Err is why it ended before that.
func (v *volume) Err() error {
	select {
	case <-v.done:
		return v.err
	default:
		return nil
	}
}

// Close ends it.
func (v *volume) Close() error {
	v.stop.Store(true)
	v.start.Do(func() { close(v.done) })
	<-v.done
	var err error
	v.close.Do(func() { err = unix.Close(v.fd) })
	return err
}
