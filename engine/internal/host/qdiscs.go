package host

import (
	"errors"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/metric"
)

// qdiscs counts what happened in the queueing disciplines of one interface.
type qdiscs struct {
	nl    *netlink.Handle // nil where there is none
	index int             // of the interface
	last  map[qdiscKey]netlink.GnetStatsQueue
	begun bool
}

// qdiscKey tells one queueing discipline from the others of its interface.
type qdiscKey struct {
	kind           string
	handle, parent uint32
}

// openQdiscs opens a socket in this process's network namespace.
func openQdiscs() *qdiscs {
	q := &qdiscs{last: make(map[qdiscKey]netlink.GnetStatsQueue)}
	q.nl, _ = netlink.NewHandle(unix.NETLINK_ROUTE) // without it nothing is known of them
	return q
}

// read is what happened in those of the interface index since the last read. One that is new began then.
func (q *qdiscs) read(index int) []metric.Qdisc {
	if q.nl == nil {
		return nil
	}
	list, err := q.nl.QdiscList(&netlink.Dummy{LinkAttrs: netlink.LinkAttrs{Index: index}})
	if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
		return nil
	}
	if index != q.index {
		clear(q.last)
		q.index, q.begun = index, false
	}
	first := !q.begun
	q.begun = true
	now := make(map[qdiscKey]netlink.GnetStatsQueue, len(list))
	var moved []metric.Qdisc
	for _, d := range list {
		a := d.Attrs()
		if a.Statistics == nil || a.Statistics.Queue == nil {
			continue
		}
		key := qdiscKey{d.Type(), a.Handle, a.Parent}
		n := *a.Statistics.Queue
		last := q.last[key]
		now[key] = n
		if first {
			last = n
		}
		if m := moveOf(key, last, n); m.Drops|m.Overlimits|m.Requeues|m.Backlog != 0 && len(moved) < metric.MaxRows {
			moved = append(moved, m)
		}
	}
	q.last = now
	return moved
}

func (q *qdiscs) close() {
	if q.nl != nil {
		q.nl.Close()
	}
}

// moveOf is what happened in one between two readings. Its counters have 32 bits.
func moveOf(key qdiscKey, last, now netlink.GnetStatsQueue) metric.Qdisc {
	move := func(last, now uint32) uint64 { return grown(uint64(last), uint64(now)) }
	return metric.Qdisc{
		Kind:       key.kind,
		Handle:     netlink.HandleStr(key.handle),
		Parent:     parentName(key.parent),
		Drops:      move(last.Drops, now.Drops),
		Overlimits: move(last.Overlimits, now.Overlimits),
		Requeues:   move(last.Requeues, now.Requeues),
		Backlog:    uint64(now.Qlen),
	}
}

func parentName(parent uint32) string {
	switch parent {
	case netlink.HANDLE_ROOT:
		return "root"
	case netlink.HANDLE_INGRESS:
		return "ingress"
	}
	return netlink.HandleStr(parent)
}
