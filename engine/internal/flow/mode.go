package flow

import "github.com/ethtune/ethtune/engine/metric"

const (
	// trainBps and trainPps are the rate of one stream, in bit/s of payload and in datagrams a second, beyond which a call
	// for each datagram costs more than a processor has.
	trainBps = 1_500_000_000
	trainPps = 150_000
	// autoTrain is how many datagrams a train has at most where nobody says otherwise. Longer ones carry a tenth more, and a
	// sender of them outruns a receiver of the same kind: on a veth pair 45 of 1448 bytes lost 5 to 25 % where 32 lost 0 to
	// 8 %.
	autoTrain = 32
	// trainSpan is how long a train of a paced stream may take at its rate, in nanoseconds: it arrives as a burst.
	trainSpan = 100_000
	// autoTrains is how many trains a call carries where nobody says otherwise: more gain nothing.
	autoTrains = 1
	// receiveTrains is how many trains a call takes in where nobody says otherwise: their memory stays in a processor's own
	// cache.
	receiveTrains = 4
	// trainBytes holds any train that UDP_GRO hands over.
	trainBytes = 64 << 10
)

// inTrains reports whether datagrams of size bytes at rate bit/s, 0 is unlimited, go in trains by themselves.
func inTrains(rate int64, size int) bool {
	return rate == 0 || rate > trainBps || rate/int64(8*size) > trainPps
}

// sendMode is how a UDP sender makes its calls: messages of gso datagrams each.
type sendMode struct {
	batch int // messages a call at most: 1 is sendto(2), more are sendmmsg(2)
	gso   int // datagrams a message, beyond 1 a train of UDP_SEGMENT
}

// planSend chooses for g. All datagrams of a train are of size bytes, and together they are one datagram to the kernel.
func planSend(g *goal, size int) sendMode {
	m := sendMode{batch: g.calls.Batch, gso: g.calls.GSO}
	if m.gso == 0 {
		m.gso = 1
		if m.batch == 0 && inTrains(g.rate, size) {
			m.gso = autoTrain
			if g.rate > 0 {
				m.gso = min(m.gso, int(max(2, muldiv(trainSpan, uint64(g.rate), uint64(size)*8*1e9))))
			}
		}
	}
	m.gso = max(1, min(m.gso, metric.MaxUDPSize/size))
	switch {
	case m.batch > 0:
	case m.gso > 1:
		m.batch = autoTrains
	default:
		m.batch = maxBatch
	}
	m.batch = max(1, min(m.batch, rawBytes/(m.gso*size)))
	return m
}

// receiveMode is how a UDP receiver makes its calls.
type receiveMode struct {
	batch int  // messages a call at most
	gro   bool // UDP_GRO: a message may be a train
}

// planReceive chooses for g, whose rate is the sender's.
func planReceive(g *goal, size int) receiveMode {
	m := receiveMode{batch: g.calls.Batch, gro: g.calls.GRO == metric.On}
	if g.calls.GRO == metric.Auto {
		m.gro = inTrains(g.rate, size)
	}
	if m.gro {
		size = trainBytes
	}
	switch {
	case m.batch > 0:
	case m.gro:
		m.batch = receiveTrains
	default:
		m.batch = maxBatch
	}
	m.batch = max(1, min(m.batch, rawBytes/size))
	return m
}
