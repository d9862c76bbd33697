package knob

import (
	"fmt"
	"strings"
)

// maxName bounds what may be typed as a name, and the distance search with it.
const maxName = 128

// maxBit is the longest name of a feature bit: ETH_GSTRING_LEN of include/uapi/linux/ethtool.h less its NUL.
const maxBit = 31

// Knob is a name that was understood.
type Knob struct {
	Name    string   // canonical
	Members []string // of a group: what it turns together; nil for a single knob
}

// Resolve understands a canonical name, an alias, a group, a bare feature bit of the catalogue, or a sysctl without its
// family. The error names what was probably meant.
//
// "feature." with any bit is a name, known to the catalogue or not: kernels learn new bits, and only the host can say
// which it has.
func Resolve(text string) (Knob, error) {
	if text == "" {
		return Knob{}, fmt.Errorf("a knob has no empty name")
	}
	if len(text) > maxName {
		return Knob{}, fmt.Errorf("a knob's name has at most %d characters, not %d", maxName, len(text))
	}
	if dev, rest, ok := strings.Cut(text, "/"); ok {
		return Knob{}, fmt.Errorf("%.20q names an interface, which --dev does: write %.40q", dev+"/", rest)
	}
	ix := catalogue()
	name := text
	if key, ok := ix.alias[text]; ok {
		name = key
	}
	for _, try := range []string{name, featurePrefix + name, "sysctl." + name} {
		if d, ok := Lookup(try); ok {
			return Knob{Name: try, Members: d.Members}, nil
		}
	}
	if bit, ok := strings.CutPrefix(text, featurePrefix); ok && isBit(bit) {
		return Knob{Name: text}, nil
	}
	if near := nearest(text); near != "" {
		return Knob{}, fmt.Errorf("no knob is called %q; did you mean %s?", text, near)
	}
	return Knob{}, fmt.Errorf("no knob is called %q", text)
}

func isBit(s string) bool {
	if s == "" || len(s) > maxBit {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// nearest is the name or alias at the smallest edit distance, where that is small enough to be a slip of the hand: a
// third of the letters, and never more than three.
func nearest(text string) string {
	best, at := "", min(3, max(1, len(text)/3))+1
	ix := catalogue()
	try := func(name string) {
		if d := distance(strings.ToLower(text), name, at); d < at {
			best, at = name, d
		}
	}
	for _, d := range ix.docs {
		for _, a := range d.Aliases {
			try(a)
		}
	}
	for _, d := range ix.docs {
		try(d.Key)
		if bit, ok := strings.CutPrefix(d.Key, featurePrefix); ok {
			try(bit)
		}
	}
	return best
}

// distance is the number of letters to add, drop, replace or swap with a neighbour to make a out of b; limit or more is
// all the same to the caller.
func distance(a, b string, limit int) int {
	if abs(len(a)-len(b)) >= limit {
		return limit
	}
	two := make([]int, len(b)+1)
	one := make([]int, len(b)+1)
	now := make([]int, len(b)+1)
	for j := range one {
		one[j] = j
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(one[j]+1, now[j-1]+1, one[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], two[j-2]+1)
			}
		}
		two, one, now = one, now, two
	}
	return min(one[len(b)], limit)
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
