package kernel

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/nic"
	"github.com/ethtune/ethtune/tune/knob"
)

// nicCard has coalescing and rings as some card has them.
type nicCard struct {
	list  []nic.Param
	err   error
	asked map[string]uint32
}

func (c *nicCard) Coalesce(string) ([]nic.Param, error) { return c.list, c.err }
func (c *nicCard) Rings(string) ([]nic.Param, error)    { return c.list, c.err }

func (c *nicCard) SetCoalesce(_ string, values map[string]uint32) error {
	c.asked = maps.Clone(values)
	return c.err
}

func (c *nicCard) SetRings(_ string, values map[string]uint32) error {
	c.asked = maps.Clone(values)
	return c.err
}

func lines(t *testing.T, p *Params) string {
	t.Helper()
	states, err := p.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, s := range states {
		if _, ok := knob.Lookup(s.Knob); !ok {
			t.Errorf("%s has no document", s.Knob)
		}
		fmt.Fprintf(&b, "%s=%s max %d %v %s\n", s.Knob, s.Value, s.Max, s.Offers, s.Fixed)
	}
	return b.String()
}

func TestCoalesceRead(t *testing.T) {
	c := &nicCard{list: []nic.Param{
		{Name: "adaptive-rx", Value: 1, Switch: true}, {Name: "rx-usecs", Value: 50}, {Name: "rx-usecs-high", Value: 9}}}
	want := `coalesce.rx-usecs=50 max 0 [] 
coalesce.rx-frames= max 0 [] not supported
coalesce.tx-usecs= max 0 [] not supported
coalesce.tx-frames= max 0 [] not supported
coalesce.adaptive-rx=on max 0 [on off] 
coalesce.adaptive-tx= max 0 [] not supported
coalesce.rx-usecs-high=9 max 0 [] 
`
	if got := lines(t, NewCoalesce(c, "eth0")); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestRingsRead(t *testing.T) {
	c := &nicCard{list: []nic.Param{{Name: "rx", Value: 512, Max: 4096}, {Name: "tx", Value: 256, Max: 1024}}}
	if got := lines(t, NewRing(c, "eth0")); got != "ring.rx=512 max 4096 [] \nring.tx=256 max 1024 [] \n" {
		t.Errorf("%s", got)
	}
	c = &nicCard{err: unix.EOPNOTSUPP}
	const no = "not supported: operation not supported"
	if got := lines(t, NewRing(c, "eth0")); got != "ring.rx= max 0 [] "+no+"\nring.tx= max 0 [] "+no+"\n" {
		t.Errorf("%s", got)
	}
	if _, err := NewRing(&nicCard{err: unix.ENODEV}, "eth9").Read(t.Context()); !errors.Is(err, unix.ENODEV) {
		t.Errorf("no interface: %v", err)
	}
}

func TestParamsWrite(t *testing.T) {
	c := &nicCard{}
	p := NewCoalesce(c, "eth0")
	if err := p.Write(t.Context(), []knob.Setting{setting("rx-usecs=64"), setting("adaptive-rx=off"), setting("adaptive-tx=on")}); err != nil {
		t.Fatal(err)
	}
	if want := map[string]uint32{"rx-usecs": 64, "adaptive-rx": 0, "adaptive-tx": 1}; !maps.Equal(c.asked, want) {
		t.Errorf("asked for %v", c.asked)
	}
	c.asked = nil
	for _, bad := range []knob.Setting{{Knob: "ring.rx", Value: "1"}, {Knob: "coalesce.rx-usecs", Value: "fast"}} {
		if err := p.Write(t.Context(), []knob.Setting{bad}); err == nil || c.asked != nil {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestParamsOfVeth: a pair of virtual cards has neither, and says so in the kernel's words.
func TestParamsOfVeth(t *testing.T) {
	ip, err := exec.LookPath("ip")
	need(t, err == nil, "needs ip to make a veth pair")
	inNetns(t)
	if out, err := exec.Command(ip, "link", "add", "etn0", "type", "veth", "peer", "name", "etf0").CombinedOutput(); err != nil {
		t.Fatalf("ip link add: %v\n%s", err, out)
	}
	client, err := nic.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, p := range []*Params{NewCoalesce(client, "etn0"), NewRing(client, "etn0")} {
		for line := range strings.Lines(lines(t, p)) {
			if !strings.HasSuffix(line, "= max 0 [] not supported: operation not supported\n") {
				t.Errorf("%s", line)
			}
		}
		err := p.Write(t.Context(), []knob.Setting{{Knob: p.Name() + "." + p.usual[0], Value: "64"}})
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", p.Name(), err)
		}
	}
}
