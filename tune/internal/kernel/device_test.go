package kernel

import (
	"context"
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ethtune/ethtune/engine/nic"
	"github.com/ethtune/ethtune/tune/internal/kernel/kerneltest"
	"github.com/ethtune/ethtune/tune/knob"
)

func read(t *testing.T, d *Device) (map[string]knob.State, []string) {
	t.Helper()
	states, err := d.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]knob.State)
	var order []string
	for _, s := range states {
		byName[s.Knob] = s
		order = append(order, knob.Short(s.Knob))
	}
	return byName, order
}

func TestDeviceRead(t *testing.T) {
	byName, order := read(t, NewDevice(kerneltest.New(), kerneltest.Dev))
	for name, want := range map[string]string{
		"feature.rx-gro":                       "on//",
		"feature.rx-lro":                       "off//fixed by driver",
		"feature.highdma":                      "on//fixed by driver",
		"feature.tx-tcp-mangleid-segmentation": "off//",
		"feature.tx":                           "on//",
		"feature.tso":                          "on//",
		"feature.a-bit-nobody-knows":           "off//",
		"dev.mtu":                              "1500//",
		"dev.tx_queue_len":                     "1000//",
		"pause.pause":                          "//",
	} {
		s := byName[name]
		if got := s.Value + "/" + s.Wanted + "/" + s.Fixed; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if s := byName["dev.mtu"]; s.Min != 68 || s.Max != 9000 {
		t.Errorf("mtu from %d to %d", s.Min, s.Max)
	}
	got := strings.Join(order, " ")
	if !strings.HasPrefix(got, "rx tx tx-checksum-ipv4") || !strings.HasSuffix(got, "mtu txqlen highdma a-bit-nobody-knows") {
		t.Errorf("order %s", got)
	}
}

// TestGroupValue pins the rule of groupState, with the bit that stays on after "tx off" on Linux 6.18.
func TestGroupValue(t *testing.T) {
	tso, _ := knob.Lookup("feature.tso")
	tx, _ := knob.Lookup("feature.tx")
	f := func(name string, active, wanted, hw bool) nic.Feature {
		return nic.Feature{Name: name, Active: active, Wanted: wanted, Hw: hw}
	}
	for _, tt := range []struct {
		name     string
		doc      knob.Doc
		features []nic.Feature
		want     string
	}{
		{"all on", tso, []nic.Feature{f("tx-tcp-segmentation", true, true, true), f("tx-tcp6-segmentation", true, true, true)}, "on//"},
		{"one on", tso, []nic.Feature{f("tx-tcp-segmentation", false, false, true), f("tx-tcp6-segmentation", true, true, true)}, "on//"},
		{"an extra bit alone", tso, []nic.Feature{
			f("tx-tcp-segmentation", false, true, true), f("tx-tcp-accecn-segmentation", true, true, true)}, "off/on/"},
		{"fixed members do not count", tx, []nic.Feature{
			f("tx-checksum-ipv4", true, false, false), f("tx-checksum-ip-generic", false, false, true)}, "off//"},
		{"all fixed", tx, []nic.Feature{f("tx-checksum-ipv4", true, false, false)}, "on//fixed by driver"},
	} {
		byName := make(map[string]nic.Feature)
		for _, f := range tt.features {
			byName["feature."+f.Name] = f
		}
		s, ok := groupState(tt.doc, byName)
		if got := s.Value + "/" + s.Wanted + "/" + s.Fixed; !ok || got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
	if _, ok := groupState(tso, nil); ok {
		t.Error("a group without members on this kernel is there")
	}
}

func TestDeviceWrite(t *testing.T) {
	host := kerneltest.New()
	d := NewDevice(host, kerneltest.Dev)
	err := d.Write(t.Context(), []knob.Setting{
		{Knob: "feature.tso", Value: "off"}, {Knob: "feature.rx-gro", Value: "off"},
		{Knob: "dev.mtu", Value: "9000"}, {Knob: "dev.tx_queue_len", Value: "5"},
	})
	if err != nil || host.Writes() != 3 {
		t.Errorf("%v after %d writes; the features go in one", err, host.Writes())
	}
	byName, _ := read(t, d)
	for _, name := range append(knob.Members("feature.tso"), "feature.tso", "feature.rx-gro") {
		if s := byName[name]; s.Value != "off" || s.Wanted != "" {
			t.Errorf("%+v", s)
		}
	}
	if byName["dev.mtu"].Value != "9000" || byName["dev.tx_queue_len"].Value != "5" {
		t.Errorf("%+v %+v", byName["dev.mtu"], byName["dev.tx_queue_len"])
	}
}

func TestDeviceWriteTriesAll(t *testing.T) {
	host := kerneltest.New()
	d := NewDevice(host, kerneltest.Dev)
	err := d.Write(t.Context(), []knob.Setting{
		{Knob: "feature.no-such-bit", Value: "on"}, {Knob: "dev.mtu", Value: "1"},
		{Knob: "ring.rx", Value: "256"}, {Knob: "dev.tx_queue_len", Value: "5"},
	})
	for _, want := range []string{"bit name not found", "mtu less than device minimum", "ring.rx is not a knob of a device"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if byName, _ := read(t, d); byName["dev.tx_queue_len"].Value != "5" {
		t.Error("the last setting was not tried")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	writes := host.Writes()
	if err := d.Write(ended, []knob.Setting{{Knob: "dev.mtu", Value: "1400"}}); !errors.Is(err, context.Canceled) || host.Writes() != writes {
		t.Errorf("after the end: %v, %d writes", err, host.Writes()-writes)
	}
}

// featureless is a kernel that cannot be asked for features.
type featureless struct{ *kerneltest.Host }

func (featureless) Features(string) ([]nic.Feature, error) {
	return nil, &nic.Error{Op: "read features", Dev: kerneltest.Dev, Err: unix.EOPNOTSUPP}
}

func TestDeviceWithoutFeatures(t *testing.T) {
	byName, _ := read(t, NewDevice(featureless{kerneltest.New()}, kerneltest.Dev))
	if s := byName["feature.rx-gro"]; s.Value != "" || s.Fixed != "operation not supported" {
		t.Errorf("gro: %+v", s)
	}
	if s := byName["dev.mtu"]; s.Value != "1500" || s.Fixed != "" {
		t.Errorf("mtu: %+v", s)
	}
}

func TestDeviceThatIsGone(t *testing.T) {
	if _, err := NewDevice(kerneltest.New(), "eth9").Read(t.Context()); err == nil {
		t.Error("no error")
	}
}
