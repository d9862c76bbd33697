package knob

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ethtune/ethtune/assets"
)

// Doc is what is known about one knob or group. Key and Help are never empty.
type Doc struct {
	Key      string   `json:"key"`               // canonical name; queue, irq and cpu numbers are written N
	Aliases  []string `json:"aliases"`           // what people type; the first is the short name
	Members  []string `json:"members,omitempty"` // of a group: canonical names of what it turns together
	Decides  []string `json:"decides,omitempty"` // of a group: the members that give its value; empty = all
	Group    string   `json:"group"`
	Type     string   `json:"type"`
	Unit     string   `json:"unit"`
	Default  string   `json:"default"`
	Range    string   `json:"range"`
	Effect   string   `json:"effect"` // when it takes effect and at what price
	Risk     string   `json:"risk"`   // R0 nothing lost, R1 a stall below a second, R2 the link resets, R3 can lock you out
	Scope    string   `json:"scope"`
	Dir      string   `json:"dir"`
	Metric   string   `json:"metric"` // what to watch
	Help     string   `json:"help"`   // one line
	Note     string   `json:"note"`
	Evidence string   `json:"evidence"` // K kernel source, L tried, A another tuner, I public report, M unverified
	Source   string   `json:"source"`
}

// HostWide reports whether the knob belongs to the kernel as a whole and not to a network namespace, a device or a socket.
func (d Doc) HostWide() bool {
	return strings.HasPrefix(d.Scope, "GLOBAL") || strings.HasPrefix(d.Scope, "init netns")
}

// CutsLink reports whether a turn resets the link or can cut the session it is made from.
func (d Doc) CutsLink() bool {
	return strings.HasPrefix(d.Risk, "R2") || strings.HasPrefix(d.Risk, "R3")
}

// Unverified reports whether nobody has checked what the document says.
func (d Doc) Unverified() bool { return d.Evidence == "M" }

// index is the parsed catalogue.
type index struct {
	docs  []Doc
	place map[string]int    // canonical name to its place in docs
	alias map[string]string // what people type to the canonical name
}

var catalogue = sync.OnceValue(func() index {
	ix, err := parseCatalogue(assets.Knobs())
	if err != nil {
		panic(err) // The file is part of the binary and a test parses it, so this is a broken build.
	}
	return ix
})

func parseCatalogue(text string) (index, error) {
	ix := index{place: make(map[string]int), alias: make(map[string]string)}
	if err := json.Unmarshal([]byte(text), &ix.docs); err != nil {
		return ix, fmt.Errorf("knob catalogue: %w", err)
	}
	for i, d := range ix.docs {
		if d.Key == "" || d.Help == "" {
			return ix, fmt.Errorf("knob catalogue: record %d has no key or no help", i)
		}
		ix.place[d.Key] = i
	}
	for _, d := range ix.docs {
		for _, a := range d.Aliases {
			if old, taken := ix.alias[a]; taken {
				return ix, fmt.Errorf("knob catalogue: %q means both %s and %s", a, old, d.Key)
			}
			ix.alias[a] = d.Key
		}
	}
	return ix, nil
}

// Catalogue lists every knob and group in the order they are shown. The caller owns the slice, not what the Docs point to.
func Catalogue() []Doc { return slices.Clone(catalogue().docs) }

// Lookup finds the document of a canonical name. "queue.rx-0.rps_cpus" has that of "queue.rx-N.rps_cpus". A feature bit
// that the kernel knows and the catalogue does not has none.
func Lookup(name string) (Doc, bool) {
	ix := catalogue()
	i, ok := ix.place[name]
	if !ok {
		i, ok = ix.place[numberless(name)]
	}
	if !ok {
		return Doc{}, false
	}
	return ix.docs[i], true
}

// Place is where the knob stands in the catalogue, for sorting; what is not in it comes after everything that is.
func Place(name string) int {
	ix := catalogue()
	if i, ok := ix.place[name]; ok {
		return i
	}
	if i, ok := ix.place[numberless(name)]; ok {
		return i
	}
	return len(ix.docs)
}

// Members lists what a group turns together; nil for a single knob.
func Members(name string) []string {
	d, _ := Lookup(name)
	return slices.Clone(d.Members)
}

// Family is the first part of a canonical name: "feature", "dev", "sysctl" and so on.
func Family(name string) string {
	family, _, _ := strings.Cut(name, ".")
	return family
}

// OfLoad reports whether the knob belongs to the running load and not to a kernel: it goes with the load's sockets, and is
// never written down.
func OfLoad(name string) bool {
	f := Family(name)
	return f == "engine" || f == "socket"
}

// Short is the name shown on screen: the first alias ("gro", "mtu", "cc"), the bit name of a feature that has none, else
// the canonical name.
func Short(name string) string {
	if d, ok := Lookup(name); ok && len(d.Aliases) > 0 && d.Key == name {
		return d.Aliases[0]
	}
	if bit, ok := strings.CutPrefix(name, featurePrefix); ok {
		return bit
	}
	return name
}

const featurePrefix = "feature."

// numberless writes N for the numbers of queues, interrupts and processors, the way the catalogue names them.
func numberless(name string) string {
	switch Family(name) {
	case "queue", "irq", "cpu":
	default:
		return name
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if c := name[i]; c < '0' || c > '9' {
			b.WriteByte(c)
		} else if i == 0 || name[i-1] < '0' || name[i-1] > '9' {
			b.WriteByte('N')
		}
	}
	return b.String()
}
