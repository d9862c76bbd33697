package host

import (
	"bytes"
	"path/filepath"
)

// mibNames are the counters of the network namespace that are read: what was lost, sent again, or had no room. Their order
// and number differ between kernels; one that a kernel does not have stays away.
var mibNames = map[string][]string{
	"Tcp": {"OutSegs", "RetransSegs", "InErrs"},
	"TcpExt": {"TCPBacklogDrop", "TCPRcvQDrop", "TCPOFOQueue", "PruneCalled", "TCPTimeouts", "TCPLostRetransmit",
		"ListenDrops"},
	"Udp":  {"InErrors", "RcvbufErrors", "SndbufErrors", "MemErrors", "NoPorts"},
	"Ip":   {"ReasmFails", "FragFails", "FragCreates"},
	"Udp6": {"InErrors", "RcvbufErrors", "SndbufErrors", "MemErrors", "NoPorts"},
	"Ip6":  {"ReasmFails", "FragFails", "FragCreates"},
}

// mibs reads those counters.
type mibs struct {
	tables []*file // two lines for each protocol: names, and values
	list   *file   // one counter a line
	wanted map[string]map[string]*mib
	all    []*mib
	begun  bool
}

// mib is one counter.
type mib struct {
	name  string
	last  uint64
	now   uint64
	known bool // it is in this reading
	seen  bool // it was in the last
}

func openMIBs(root string) *mibs {
	at := func(name string) *file { return open(filepath.Join(root, "proc/net", name), maxFile) }
	m := &mibs{tables: []*file{at("snmp"), at("netstat")}, list: at("snmp6"), wanted: make(map[string]map[string]*mib)}
	for proto, names := range mibNames {
		m.wanted[proto] = make(map[string]*mib)
		for _, n := range names {
			c := &mib{name: proto + "." + n}
			m.wanted[proto][n] = c
			m.all = append(m.all, c)
		}
	}
	m.read()
	return m
}

// read is by how much those counters that moved grew since the last read; nil where none did, or none is there.
func (m *mibs) read() map[string]uint64 {
	for _, c := range m.all {
		c.last, c.seen, c.known = c.now, c.known, false
	}
	for _, f := range m.tables {
		if text, ok := f.read(); ok {
			parseTable(text, m.put)
		}
	}
	if text, ok := m.list.read(); ok {
		parseList(text, m.put)
	}
	var moved map[string]uint64
	for _, c := range m.all {
		if !c.known || !c.seen {
			continue
		}
		if d := grown(c.last, c.now); d > 0 {
			if moved == nil {
				moved = make(map[string]uint64)
			}
			moved[c.name] = d
		}
	}
	return moved
}

func (m *mibs) put(proto, name []byte, v uint64) {
	if c := m.wanted[string(proto)][string(name)]; c != nil {
		c.now, c.known = v, true
	}
}

func (m *mibs) close() {
	for _, f := range m.tables {
		f.close()
	}
	m.list.close()
}

// parseTable reads /proc/net/snmp and /proc/net/netstat: for each protocol a line with the names of its counters, and one
// with their values, which may be negative where they are no counters.
func parseTable(text []byte, put func(proto, name []byte, v uint64)) {
	for len(text) > 0 {
		var names, values []byte
		names, text = line(text)
		proto, names, ok := bytes.Cut(names, []byte(":"))
		if !ok {
			continue
		}
		values, rest := line(text)
		again, values, ok := bytes.Cut(values, []byte(":"))
		if !ok || !bytes.Equal(again, proto) {
			continue // its values are not there; the next line may begin another
		}
		text = rest
		for {
			var n, v []byte
			n, names = word(names)
			v, values = word(values)
			if len(n) == 0 || len(v) == 0 {
				break
			}
			if v, ok := decimal(v); ok {
				put(proto, n, v)
			}
		}
	}
}

// parseList reads /proc/net/snmp6: the protocol and the counter in one word, and its value.
func parseList(text []byte, put func(proto, name []byte, v uint64)) {
	for len(text) > 0 {
		var l []byte
		l, text = line(text)
		n, l := word(l)
		w, _ := word(l)
		six := bytes.IndexByte(n, '6')
		if v, ok := decimal(w); ok && six >= 0 {
			put(n[:six+1], n[six+1:], v)
		}
	}
}
