package knob

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/ethtune/ethtune/engine/metric"
)

// Kind is what sort of value a knob takes.
type Kind uint8

// The kinds.
const (
	Text   Kind = iota // printable, the kernel judges the rest
	Switch             // on or off
	Number             // a whole number
	Choice             // one of Words
	Name               // a kernel name of 1 to 15 of a-z 0-9 _ -
	Vector             // three whole numbers that rise: MIN DEFAULT MAX
	CPUs               // a list of processors as the kernel writes it, or AnyCPU
)

// AnyCPU is the value of a knob of kind CPUs that leaves the choice to the scheduler.
const AnyCPU = "any"

// maxText bounds a value, and maxWord a kernel name: TCP_CA_NAME_MAX of include/uapi/linux/tcp.h and IFNAMSIZ, which bounds
// the name of a qdisc, are 16 with the NUL.
const (
	maxText = 256
	maxWord = 15
)

// Domain says which values a knob can be asked for before anybody asks the kernel. It is wide on purpose: a limit that
// the kernel or the driver has is theirs to name.
type Domain struct {
	Kind     Kind
	Words    []string // of a Choice
	Min, Max int64    // of a Number, or of each of a Vector, in its unit
	Usual    int64    // a limit below Max, above which what a person typed is taken for a slip; 0 = none
	Zero     string   // of a Number: the word that means 0, such as "max"; empty = none
	Base     int64    // of a Number or a Vector: what K stands for, 1000 or 1024
}

// DomainOf is the domain of a canonical name.
func DomainOf(name string) Domain {
	switch name {
	case "dev.mtu":
		return number(0, math.MaxInt32)
	case "dev.tx_queue_len":
		return number(0, math.MaxUint32)
	case "socket.sndbuf", "socket.rcvbuf":
		d := number(metric.MinSockBuf, metric.MaxSockBuf)
		d.Zero = "auto"
		return d
	case "socket.congestion":
		return Domain{Kind: Name}
	case "engine.rate":
		return Domain{Kind: Number, Min: 1, Max: metric.MaxRate, Zero: "max", Base: 1000}
	case "engine.streams":
		return number(1, metric.MaxStreams)
	case "engine.size":
		d := number(metric.MinTCPSize, metric.MaxTCPSize)
		d.Zero = "auto"
		return d
	case "engine.batch", "engine.gso":
		d := number(1, metric.MaxBatch)
		d.Zero = "auto"
		return d
	case "engine.gro":
		return choice("auto", metric.On, metric.Off)
	case "engine.affinity":
		return Domain{Kind: CPUs}
	case "socket.nodelay":
		return Domain{Kind: Switch}
	case "socket.maxseg":
		d := number(metric.MinMSS, metric.MaxMSS)
		d.Zero = "auto"
		return d
	case "socket.tos":
		return number(0, 255)
	case "engine.mode":
		return choice(metric.ModeOut, metric.ModeIn, metric.ModeBoth)
	case "engine.protocol":
		return choice(metric.TCP, metric.UDP)
	}
	if strings.HasPrefix(name, featurePrefix) {
		return Domain{Kind: Switch}
	}
	if s, ok := sysctls[name]; ok {
		return s.domain
	}
	doc, _ := Lookup(name)
	switch doc.Type {
	case "bool":
		if Family(name) == "sysctl" {
			return choice("0", "1")
		}
		return Domain{Kind: Switch}
	case "u8":
		return number(0, math.MaxUint8)
	case "u32":
		return number(0, math.MaxUint32)
	}
	return Domain{Kind: Text}
}

func number(lo, hi int64) Domain { return Domain{Kind: Number, Min: lo, Max: hi, Base: 1024} }

func choice[S ~string](words ...S) Domain {
	d := Domain{Kind: Choice}
	for _, w := range words {
		d.Words = append(d.Words, string(w))
	}
	return d
}

// Canonical is the one form of a value that is stored, compared and shown. The error is what the knob takes, to follow
// the knob's name: "takes on or off, not 7".
func (d Domain) Canonical(text string) (string, error) {
	switch d.Kind {
	case Switch:
		if text != "on" && text != "off" {
			return "", fmt.Errorf("takes on or off, not %.40s", quoteOdd(text))
		}
	case Choice:
		if !slices.Contains(d.Words, text) {
			return "", fmt.Errorf("takes %s, not %.40s", orList(d.Words), quoteOdd(text))
		}
	case Name:
		if len(text) > maxWord || !isBit(text) {
			return "", fmt.Errorf("takes a name of 1 to %d of a-z 0-9 _ -, not %.40s", maxWord, quoteOdd(text))
		}
	case CPUs:
		if text == AnyCPU {
			return text, nil
		}
		if cpus, err := metric.ParseCPUs(text); err != nil || len(cpus) == 0 {
			return "", fmt.Errorf("takes %s or a list of processors such as 2 or 0-1,4, not %.40s", AnyCPU, quoteOdd(text))
		}
	case Number:
		return d.number(text)
	case Vector:
		return d.vector(text)
	default:
		if text == "" || len(text) > maxText || strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
			return "", fmt.Errorf("takes 1 to %d printable characters, not %.40q", maxText, text)
		}
	}
	return text, nil
}

// Typed is [Domain.Canonical] of what a person typed, who may mean less than the kernel would take. What was found on a
// host may be above that, and is put back with Canonical.
func (d Domain) Typed(text string) (string, error) {
	if d.Usual > 0 {
		d.Max = min(d.Max, d.Usual)
	}
	return d.Canonical(text)
}

func (d Domain) number(text string) (string, error) {
	if d.Zero != "" && (text == d.Zero || text == "0") {
		return "0", nil
	}
	n, err := ParseNumber(text, d.Base)
	if err != nil {
		return "", fmt.Errorf("takes a number: %w", err)
	}
	if n < d.Min || n > d.Max {
		zero := ""
		if d.Zero != "" {
			zero = "0 (" + d.Zero + ") or "
		}
		return "", fmt.Errorf("takes %s%d to %d, not %s", zero, d.Min, d.Max, text)
	}
	return strconv.FormatInt(n, 10), nil
}

// Same reports whether got is what asked stands for. The kernel doubles a socket buffer to have room for its own
// bookkeeping (net/core/sock.c __sock_set_rcvbuf), and a buffer of 0 leaves the choice to it.
func Same(name, asked, got string) bool {
	if asked == got {
		return true
	}
	if name != "socket.sndbuf" && name != "socket.rcvbuf" {
		return false
	}
	if asked == "0" {
		return true
	}
	a, err1 := strconv.ParseInt(asked, 10, 64)
	g, err2 := strconv.ParseInt(got, 10, 64)
	return err1 == nil && err2 == nil && g == 2*a
}

// quoteOdd leaves a plain word bare, since it reads better, and quotes everything that could disturb a line.
func quoteOdd(text string) string {
	odd := func(r rune) bool { return r <= ' ' || r == '"' || !strconv.IsPrint(r) }
	if text == "" || strings.ContainsFunc(text, odd) {
		return strconv.Quote(text)
	}
	return text
}

func orList(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
