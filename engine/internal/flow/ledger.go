package flow

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/ethtune/ethtune/engine/metric"
)

// Ledger holds the streams of one end and sums them up, those that have ended included, so that no interval loses the
// tail of a stream that was closed within it. The zero Ledger is empty and open.
type Ledger struct {
	mu        sync.Mutex
	closed    bool
	senders   map[uint32]Sender
	receivers map[uint32]Receiver
	tx        Tx // of streams that ended
	rx        Rx
}

// Reading is the state of a Ledger.
type Reading struct {
	Tx Tx `json:"tx"`
	Rx Rx `json:"rx"`
	// TxCPUs and RxCPUs are the processors that the threads of senders and receivers last ran on, each once, in order.
	TxCPUs []int `json:"tx_cpus,omitempty"`
	RxCPUs []int `json:"rx_cpus,omitempty"`
}

// AddSender takes over s, not yet started. After Close it is closed at once.
func (l *Ledger) AddSender(id uint32, s Sender) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = s.Close()
		return
	}
	if l.senders == nil {
		l.senders = make(map[uint32]Sender)
	}
	l.senders[id] = s
}

// AddReceiver takes over r, not yet started. After Close it is closed at once.
func (l *Ledger) AddReceiver(id uint32, r Receiver) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = r.Close()
		return
	}
	if l.receivers == nil {
		l.receivers = make(map[uint32]Receiver)
	}
	l.receivers[id] = r
}

// Start lets the streams run that are not yet running. It does not hold up a Read: where a hundred threads come up beside
// those that are running already, that takes a while.
func (l *Ledger) Start() {
	l.mu.Lock()
	senders, receivers := slices.Collect(maps.Values(l.senders)), slices.Collect(maps.Values(l.receivers))
	l.mu.Unlock()
	crew.room(len(receivers) + len(senders))
	for _, r := range receivers {
		r.Start()
	}
	for _, s := range senders {
		s.Start()
	}
}

// stream is what senders and receivers have in common.
type stream interface {
	Aim(bps int64, c metric.Calls) error
	Tune(o metric.Socket) (metric.GrantedSocket, error)
	Place(cpus string) error
}

// numbered is a stream with its id, which a sender and a receiver may share.
type numbered struct {
	stream
	id uint32
}

// streams are those that are there.
func (l *Ledger) streams() []numbered {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]numbered, 0, len(l.senders)+len(l.receivers))
	for id, s := range l.senders {
		all = append(all, numbered{s, id})
	}
	for id, r := range l.receivers {
		all = append(all, numbered{r, id})
	}
	return all
}

// Aim gives every sender the rate, and every stream the calls. Processors that cannot be had are an error before anything
// changes.
func (l *Ledger) Aim(bps int64, c metric.Calls) error {
	if err := CheckCPUs(c.Affinity); err != nil {
		return err
	}
	var errs []error
	for _, s := range l.streams() {
		if err := errors.Join(s.Aim(bps, c), s.Place(c.Affinity)); err != nil {
			errs = append(errs, fmt.Errorf("stream %d: %w", s.id, err))
		}
	}
	return errors.Join(errs...)
}

// Tune gives every stream what a running socket takes of o, and returns what the kernel then says, by the stream's id. All
// are asked at once: each answers when its thread is run.
func (l *Ledger) Tune(o metric.Socket) (map[uint32]metric.GrantedSocket, error) {
	var mu sync.Mutex // guards what follows
	var errs []error
	granted := make(map[uint32]metric.GrantedSocket)
	var wg sync.WaitGroup
	for _, s := range l.streams() {
		wg.Go(func() {
			g, err := s.Tune(o)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				granted[s.id] = g
			case !errors.Is(err, errClosed): // one that is being closed needs nothing
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	if len(errs) > 0 {
		return granted, errs[0] // they are all the same
	}
	return granted, nil
}

// CloseSender ends a sender and returns its final count; false where there is none of that id.
func (l *Ledger) CloseSender(id uint32) (Tx, bool) {
	l.mu.Lock()
	s, ok := l.senders[id]
	l.mu.Unlock()
	if !ok {
		return Tx{}, false
	}
	_ = s.Close() // the socket is gone either way, and what it counted is there
	l.mu.Lock()
	defer l.mu.Unlock()
	tx := s.Tx()
	if _, still := l.senders[id]; still {
		delete(l.senders, id)
		l.tx.add(tx)
	}
	return tx, true
}

// FinishReceiver ends a receiver whose sender sent so many datagrams; false where there is none of that id.
func (l *Ledger) FinishReceiver(id uint32, sent uint64) bool {
	l.mu.Lock()
	r, ok := l.receivers[id]
	l.mu.Unlock()
	if !ok {
		return false
	}
	rx, _ := r.Finish(sent)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, still := l.receivers[id]; still {
		delete(l.receivers, id)
		l.rx.add(rx)
	}
	return true
}

// Close ends every stream, all at once: each waits until its thread is run. It may be called more than once.
func (l *Ledger) Close() {
	l.mu.Lock()
	l.closed = true
	senders, receivers := slices.Collect(maps.Keys(l.senders)), slices.Collect(maps.Keys(l.receivers))
	l.mu.Unlock()
	var wg sync.WaitGroup
	for _, id := range senders {
		wg.Go(func() { l.CloseSender(id) })
	}
	wg.Wait()
	for _, id := range receivers {
		wg.Go(func() { l.FinishReceiver(id, 0) })
	}
	wg.Wait()
}

// Broken returns the first error by which a stream ended itself.
func (l *Ledger) Broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, s := range l.senders {
		if err := s.Err(); err != nil {
			return fmt.Errorf("stream %d: %w", id, err)
		}
	}
	for id, r := range l.receivers {
		if err := r.Err(); err != nil {
			return fmt.Errorf("stream %d: %w", id, err)
		}
	}
	return nil
}

// Read sums up. The jitter of the interval since the last Read goes to h.
func (l *Ledger) Read(h *metric.Hist) Reading {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := Reading{Tx: l.tx, Rx: l.rx}
	var rtt, jitter mean
	for _, s := range l.senders {
		tx := s.Tx()
		out.Tx.add(tx)
		out.Tx.join(tx)
		rtt.add(tx.RttMs)
		out.Tx.MinRttMs = least(out.Tx.MinRttMs, tx.MinRttMs)
		out.Tx.CwndBytes = out.Tx.CwndBytes.Add(tx.CwndBytes)
		out.Tx.DeliveryBps = out.Tx.DeliveryBps.Add(tx.DeliveryBps)
		out.TxCPUs = insert(out.TxCPUs, s)
	}
	for _, r := range l.receivers {
		rx := r.Rx(h)
		out.Rx.add(rx)
		out.Rx.join(rx)
		jitter.add(rx.JitterNs)
		out.RxCPUs = insert(out.RxCPUs, r)
	}
	out.Tx.RttMs, out.Rx.JitterNs = rtt.num(), jitter.num()
	return out
}

// insert puts the processor of s into cpus, which is in order.
func insert(cpus []int, s interface{ CPU() (int, bool) }) []int {
	n, ok := s.CPU()
	if !ok {
		return cpus
	}
	if i, found := slices.BinarySearch(cpus, n); !found {
		cpus = slices.Insert(cpus, i, n)
	}
	return cpus
}

// least is the lesser of the two that are there.
func least(a, b metric.Num) metric.Num {
	if v, ok := b.Get(); ok && v < a.Or(v+1) {
		return b
	}
	return a
}

// mean is the mean of the numbers that are there.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v metric.Num) {
	if f, ok := v.Get(); ok {
		m.sum += f
		m.n++
	}
}

func (m *mean) num() metric.Num {
	if m.n == 0 {
		return metric.Num{}
	}
	return metric.N(m.sum / float64(m.n))
}
