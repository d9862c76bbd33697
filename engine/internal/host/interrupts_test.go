package host

import (
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/ethtune/ethtune/engine/metric"
)

// withDevice makes, below dir, the part of sysfs that says that the device of interface dev is at path.
func withDevice(t *testing.T, dir, dev, path string, msi ...string) {
	t.Helper()
	device := filepath.Join(dir, "sys/devices", path)
	bus := busDevice(device)
	class := filepath.Join(dir, "sys/class/net", dev)
	for _, d := range []string{device, class} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(device, filepath.Join(class, "device")); err != nil {
		t.Fatal(err)
	}
	for _, n := range msi {
		d := filepath.Join(bus, "msi_irqs")
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, n), []byte("msix\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// zeroed is an interrupts file in which every count is 0.
func zeroed(text string) string {
	head, rows, _ := strings.Cut(text, "\n")
	n := len(strings.Fields(head))
	var b strings.Builder
	b.WriteString(head + "\n")
	for l := range strings.Lines(rows) {
		name, rest, _ := strings.Cut(l, ":")
		f := strings.Fields(rest)
		for i := range min(n, len(f)) {
			if _, ok := decimal([]byte(f[i])); ok {
				f[i] = "0"
			}
		}
		b.WriteString(name + ": " + strings.Join(f, " ") + "\n")
	}
	return b.String()
}

// TestInterrupts is traps P06 to P12: how kernels and drivers call the interrupts of one interface.
func TestInterrupts(t *testing.T) {
	one := func(irq int, name string, cpu int, n uint64) metric.Interrupt {
		return metric.Interrupt{IRQ: irq, Name: name, CPUs: map[int]uint64{cpu: n}}
	}
	for name, c := range map[string]struct {
		trap, dev, path string
		msi             []string
		want            []metric.Interrupt
	}{
		"the device's address": {"P06", "eth0", "soc/2100000.bus/2188000.ethernet", nil,
			[]metric.Interrupt{one(82, "2188000.ethernet", 0, 344546), one(84, "2188000.ethernet", 0, 12)}},
		"the interface's name": {"P07", "eth0", "soc/1c30000.ethernet", nil, []metric.Interrupt{one(24, "eth0", 1, 1417932)}},
		"on USB": {"P07", "enx001122334455", "soc/fe800000.usb/xhci-hcd.0.auto/usb1/1-1/1-1:1.0", nil,
			[]metric.Interrupt{one(87, "xhci-hcd:usb1", 0, 812345)}},
		"no trigger": {"P08", "eth0", "soc/10090000.ethernet", nil, []metric.Interrupt{one(3, "eth0", 0, 7141)}},
		"virtio": {"P09", "eth0", "pci0000:00/0000:00:03.0/virtio2", []string{"37", "38", "39"},
			[]metric.Interrupt{one(38, "virtio2-input.0", 1, 4276), one(39, "virtio2-output.0", 0, 4781)}},
		"four processors": {"P10", "eth0", "pci0000:00/0000:02:00.0", []string{"30"},
			[]metric.Interrupt{{IRQ: 30, Name: "eth0", CPUs: map[int]uint64{0: 10, 1: 20, 2: 30, 3: 40}}}},
		"one offline": {"P11", "eth0", "pci0000:00/0000:02:00.0", nil,
			[]metric.Interrupt{{IRQ: 31, Name: "eth0-TxRx-0", CPUs: map[int]uint64{0: 7, 3: 99}}}},
		"shared": {"P12", "eth0", "pci0000:00/0000:02:00.0", nil,
			[]metric.Interrupt{{IRQ: 20, Name: "ehci_hcd:usb1, ehci_hcd:usb2, eth0", CPUs: map[int]uint64{0: 1000, 1: 7}}}},
		"nameless": {"P12", "eth1", "pci0000:00/0000:03:00.0", []string{"21", "22", "23", "24"},
			[]metric.Interrupt{one(21, "", 0, 3), one(22, "", 0, 4), one(23, "", 0, 5), one(24, "", 0, 6)}},
	} {
		t.Run(name, func(t *testing.T) {
			text := fixture(t, c.trap+"/interrupts")
			dir, write := root(t, "proc/interrupts", zeroed(text))
			withDevice(t, dir, c.dev, c.path, c.msi...)
			i := openInterrupts(dir, c.dev)
			defer i.close()
			write(text)
			if got := i.read(); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			if got := i.read(); got != nil {
				t.Errorf("nothing came: %+v", got)
			}
			write(zeroed(text)) // the interface was down and up
			if got := i.read(); got != nil {
				t.Errorf("counted anew: %+v", got)
			}
		})
	}
}

func TestSoftwareHasNoInterrupts(t *testing.T) {
	dir, _ := root(t, "proc/interrupts", fixture(t, "P07/interrupts"))
	i := openInterrupts(dir, "eth0")
	defer i.close()
	if !i.lines.none() {
		t.Errorf("%+v", i.lines)
	}
}

// TestManyProcessors is the rest of P11: more than a hundred columns.
func TestManyProcessors(t *testing.T) {
	head, row := "", " 40:"
	for n := range 300 {
		head += " CPU" + strconv.Itoa(n)
		row += " 1"
	}
	rows := 0
	parseInterrupts([]byte(head+"\n"+row+"  PCI-MSI 1-edge eth0\n"), func(_ int, what []byte, cpus []int, counts []uint32) {
		rows++
		if len(counts) != 300 || cpus[299] != 299 || irqName(what) != "eth0" {
			t.Errorf("%d counts, of %q", len(counts), what)
		}
	})
	if rows != 1 {
		t.Errorf("%d rows", rows)
	}
}

func FuzzParseInterrupts(f *testing.F) {
	for _, p := range []string{"P06", "P07", "P08", "P09", "P10", "P11", "P12"} {
		f.Add([]byte(fixture(f, p+"/interrupts")))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		parseInterrupts(b, func(irq int, what []byte, cpus []int, counts []uint32) {
			if irq < 0 || len(cpus) != len(counts) || len(cpus) > metric.MaxCPUs {
				t.Fatalf("%d: %d %d", irq, len(cpus), len(counts))
			}
			if n := irqName(what); len(n) > maxIRQName {
				t.Fatalf("name of %d bytes", len(n))
			}
			hasName(what, []byte("eth0"))
		})
	})
}
