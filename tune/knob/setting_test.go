package knob

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func (s Setting) text() string { return fmt.Sprintf("%s:%s=%s", s.Side, s.Knob, s.Value) }

func TestParseSetting(t *testing.T) {
	for text, want := range map[string]string{
		"gro=on":                                "near:feature.rx-gro=on",
		"far:gro=off":                           "far:feature.rx-gro=off",
		"near:tso=on":                           "near:feature.tso=on",
		"tx=off":                                "near:feature.tx=off",
		"rx-gro=on":                             "near:feature.rx-gro=on",
		"tcp-segmentation-offload=on":           "near:feature.tso=on",
		"feature.tx-esp-segmentation=on":        "near:feature.tx-esp-segmentation=on",
		"mtu=9000":                              "near:dev.mtu=9000",
		"mtu=1":                                 "near:dev.mtu=1",
		"mtu=9k":                                "near:dev.mtu=9216",
		"qlen=0":                                "near:dev.tx_queue_len=0",
		"sndbuf=256K":                           "near:socket.sndbuf=262144",
		"rcvbuf=1.5Mi":                          "near:socket.rcvbuf=1572864",
		"rcvbuf=auto":                           "near:socket.rcvbuf=0",
		"far:cc=bbr":                            "far:socket.congestion=bbr",
		"rate=100M":                             "near:engine.rate=100000000",
		"rate=1.5G":                             "near:engine.rate=1500000000",
		"rate=1Gi":                              "near:engine.rate=1073741824",
		"rate=max":                              "near:engine.rate=0",
		"rate=0":                                "near:engine.rate=0",
		"streams=4":                             "near:engine.streams=4",
		"size=128K":                             "near:engine.size=131072",
		"dir=both":                              "near:engine.mode=both",
		"proto=udp":                             "near:engine.protocol=udp",
		"ring.rx=256":                           "near:ring.rx=256",
		"backlog=3000":                          "host:sysctl.net.core.netdev_max_backlog=3000",
		"far:backlog=3000":                      "host:sysctl.net.core.netdev_max_backlog=3000",
		"net.ipv4.tcp_rmem=4096 131072 6291456": "near:sysctl.net.ipv4.tcp_rmem=4096 131072 6291456",
	} {
		s, err := ParseSetting(text)
		if err != nil || s.text() != want {
			t.Errorf("%s: %s, %v; want %s", text, s.text(), err, want)
		}
		again, err := ParseSetting(s.text())
		if err != nil || again != s {
			t.Errorf("%s: its canonical form reads as %s, %v", text, again.text(), err)
		}
	}
}

func TestParseSettingRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                    `"" has no value: write knob=value, such as gro=on`,
		"gro":                 `"gro" has no value: write knob=value, such as gro=on`,
		"=on":                 "a knob has no empty name",
		"gro=":                `gro takes on or off, not ""`,
		"gro=7":               "gro takes on or off, not 7",
		"gro=ON":              "gro takes on or off, not ON",
		"gro=on off":          `gro takes on or off, not "on off"`,
		"rx=256":              "rx means receive checksum and takes on or off; did you mean ring.rx=256?",
		"far:tx=1K":           "tx means send checksum and takes on or off; did you mean ring.tx=1K?",
		"rx=fast":             "rx takes on or off, not fast",
		"rx-checksum=256":     "rx-checksum takes on or off, not 256",
		"grow=on":             `no knob is called "grow"; did you mean gro?`,
		"mut=1500":            `no knob is called "mut"; did you mean mtu?`,
		"streasm=4":           `no knob is called "streasm"; did you mean streams?`,
		"rx-grp=on":           `no knob is called "rx-grp"; did you mean rx-gro?`,
		"flux-capacitor=1":    `no knob is called "flux-capacitor"`,
		"middle:gro=on":       `no side is called "middle": near, far or host`,
		"near:eth0/gro=on":    `"eth0/" names an interface, which --dev does: write "gro"`,
		"mtu=-1":              `mtu takes a number: "-1" is not a number`,
		"mtu=1e3":             `mtu takes a number: "1e3" is not a number`,
		"mtu=0x10":            `mtu takes a number: "0x10" is not a number`,
		"mtu=big":             `mtu takes a number: "big" is not a number`,
		"mtu=1.5":             `mtu takes a number: "1.5" is not a whole number`,
		"mtu=9kk":             `mtu takes a number: "kk" is not one of K M G T Ki Mi Gi Ti`,
		"mtu=1500B":           `mtu takes a number: "1500B" is not a number`,
		"mtu=3G":              "mtu takes 0 to 2147483647, not 3G",
		"qlen=4294967296":     "qlen takes 0 to 4294967295, not 4294967296",
		"sndbuf=10":           "sndbuf takes 0 (auto) or 1024 to 536870912, not 10",
		"rate=2T":             "rate takes 0 (max) or 1 to 1000000000000, not 2T",
		"rate=9999999T":       `rate takes a number: "9999999T" is too large`,
		"rate=1Q":             `rate takes a number: "1Q" is not a number`,
		"streams=0":           "streams takes 1 to 128, not 0",
		"dir=up":              "dir takes out, in or both, not up",
		"proto=sctp":          "proto takes tcp or udp, not sctp",
		"cc=Cubic":            "cc takes a name of 1 to 15 of a-z 0-9 _ -, not Cubic",
		"cc=":                 `cc takes a name of 1 to 15 of a-z 0-9 _ -, not ""`,
		"cc=sixteen-letters-": "cc takes a name of 1 to 15 of a-z 0-9 _ -, not sixteen-letters-",
		"flow_limit=1\n2":     `flow_limit takes 1 to 256 printable characters, not "1\n2"`,
		"feature.Upper=on":    `no knob is called "feature.Upper"`,
	} {
		s, err := ParseSetting(text)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %s, %v; want %s", text, s.text(), err, want)
		}
	}
}

func FuzzParseSetting(f *testing.F) {
	for _, seed := range []string{"gro=on", "far:rate=1.5G", "rx=256", "host:backlog=1", "queue.rx-0.rps_cpus=3", "grp=\x00", "a:b:c=d=e"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSetting(text)
		if err != nil {
			if msg := err.Error(); strings.ContainsAny(msg, "\r\n\x1b") || len(msg) > 512 || utf8.ValidString(text) && !utf8.ValidString(msg) {
				t.Errorf("%q: the error is not one short line: %q", text, msg)
			}
			return
		}
		again, err := ParseSetting(s.text())
		if err != nil || again != s {
			t.Errorf("%q is %+v, which reads as %+v, %v", text, s, again, err)
		}
	})
}
