package main

import (
	"bytes"
	"io"
	"sync"
	"time"
)

// talk is what a program says, kept while it runs. It may be read meanwhile.
type talk struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// listen keeps what comes from r.
func (k *talk) listen(r io.Reader) {
	b := make([]byte, 32<<10)
	for {
		n, err := r.Read(b)
		k.mu.Lock()
		k.text.Write(b[:n])
		k.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// take empties what was said so far.
func (k *talk) take() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	defer k.text.Reset()
	return k.text.String()
}

// until takes what is said until it is as wanted: a server may say it later than it tells the client.
func (k *talk) until(wanted func(said string) error) error {
	late := time.After(10 * time.Second)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	said := k.take()
	for {
		err := wanted(said)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
			said += k.take()
		case <-late:
			return err
		}
	}
}
