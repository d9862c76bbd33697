package knob

import (
	"strings"
	"testing"
)

func TestSysctlSettings(t *testing.T) {
	for text, want := range map[string]string{
		"tcp_rmem=4096,131072,6291456":            "near:sysctl.net.ipv4.tcp_rmem=4096 131072 6291456",
		"tcp_rmem=4k,128K,6M":                     "near:sysctl.net.ipv4.tcp_rmem=4096 131072 6291456",
		"far:tcp_rmem=4096,8192,16384":            "far:sysctl.net.ipv4.tcp_rmem=4096 8192 16384",
		"tcp_wmem=4096\t16384 \t4194304":          "near:sysctl.net.ipv4.tcp_wmem=4096 16384 4194304",
		"tcp_wmem=1,1,1073741823":                 "near:sysctl.net.ipv4.tcp_wmem=1 1 1073741823",
		"backlog=5":                               "host:sysctl.net.core.netdev_max_backlog=5",
		"near:rmem_max=16M":                       "host:sysctl.net.core.rmem_max=16777216",
		"default_qdisc=fq":                        "host:sysctl.net.core.default_qdisc=fq",
		"net.ipv4.tcp_congestion_control=bbr":     "near:sysctl.net.ipv4.tcp_congestion_control=bbr",
		"sysctl.net.ipv4.tcp_timestamps=2":        "near:sysctl.net.ipv4.tcp_timestamps=2",
		"notsent_lowat=4294967295":                "near:sysctl.net.ipv4.tcp_notsent_lowat=4294967295",
		"sysctl.net.ipv4.tcp_ecn=5":               "near:sysctl.net.ipv4.tcp_ecn=5",
		"sysctl.net.ipv4.tcp_moderate_rcvbuf=0":   "near:sysctl.net.ipv4.tcp_moderate_rcvbuf=0",
		"sysctl.net.core.netdev_budget_usecs=500": "host:sysctl.net.core.netdev_budget_usecs=500",
	} {
		s, err := ParseSetting(text)
		if err != nil || s.text() != want {
			t.Errorf("%q: %s, %v; want %s", text, s.text(), err, want)
		}
	}
}

func TestSysctlSettingsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"tcp_rmem=4096,131072,4k":         "tcp_rmem takes MIN <= DEFAULT <= MAX, not 4096 after 131072",
		"tcp_rmem=8192,4096,16384":        "tcp_rmem takes MIN <= DEFAULT <= MAX, not 4096 after 8192",
		"tcp_rmem=4096,131072":            "tcp_rmem takes three numbers MIN,DEFAULT,MAX, not 4096,131072",
		"tcp_rmem=1,2,3,4":                "tcp_rmem takes three numbers MIN,DEFAULT,MAX, not 1,2,3,4",
		"tcp_rmem=4096 131072 6M junk":    `tcp_rmem takes three numbers MIN,DEFAULT,MAX, not "4096 131072 6M junk"`,
		"tcp_rmem=":                       `tcp_rmem takes three numbers MIN,DEFAULT,MAX, not ""`,
		"tcp_rmem=1\n2":                   `tcp_rmem takes three numbers MIN,DEFAULT,MAX, not "1\n2"`,
		"tcp_rmem=0,1,2":                  "tcp_rmem takes three numbers of 1 to 1073741823, not 0",
		"tcp_rmem=4096,87380,99999999999": "tcp_rmem takes three numbers of 1 to 1073741823, not 99999999999",
		"tcp_rmem=4096,87380,2147483647":  "tcp_rmem takes three numbers of 1 to 1073741823, not 2147483647",
		"tcp_rmem=-1,2,3":                 `tcp_rmem takes three numbers: "-1" is not a number`,
		"tcp_rmem=a,b,c":                  `tcp_rmem takes three numbers: "a" is not a number`,
		"backlog=-1":                      `backlog takes a number: "-1" is not a number`,
		"backlog=99999999999":             "backlog takes 0 to 16777216, not 99999999999",
		"rmem_max=2G":                     "rmem_max takes 1 to 1073741823, not 2G",
		"notsent_lowat=0":                 "notsent_lowat takes 1 to 4294967295, not 0",
		"sack=2":                          "sack takes 0 or 1, not 2",
		"timestamps=3":                    "timestamps takes 0, 1 or 2, not 3",
		"default_qdisc=../../x":           "default_qdisc takes a name of 1 to 15 of a-z 0-9 _ -, not ../../x",
		"net.ipv4.no_such_sysctl=1":       `no knob is called "net.ipv4.no_such_sysctl"`,
	} {
		s, err := ParseSetting(text)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %s, %v; want %s", text, s.text(), err, want)
		}
	}
}

// TestFoundValuesCanBeAsked: a host may have been given more than a person would be let type, and an undo asks for it.
func TestFoundValuesCanBeAsked(t *testing.T) {
	for name, value := range map[string]string{
		"sysctl.net.core.rmem_max":           "2147483647",
		"sysctl.net.ipv4.tcp_rmem":           "4096 87380 2147483647",
		"sysctl.net.core.netdev_max_backlog": "2147483647",
	} {
		if got, err := Canonical(name, value); err != nil || got != value {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		if got, err := DomainOf(name).Typed(value); err == nil {
			t.Errorf("%s: typed, %s is taken", name, got)
		}
	}
}

func FuzzVector(f *testing.F) {
	for _, seed := range []string{"4096,131072,6291456", "4096 131072 4k", "1,1,1", ",,,", "1M 2Gi 3"} {
		f.Add(seed)
	}
	d := DomainOf("sysctl.net.ipv4.tcp_rmem")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := d.Canonical(text)
		if err != nil {
			return
		}
		if strings.Count(got, " ") != 2 || strings.Trim(got, "0123456789 ") != "" {
			t.Errorf("%q is %q", text, got)
		}
		if again, err := d.Canonical(got); err != nil || again != got {
			t.Errorf("%q is %q, which is %q, %v", text, got, again, err)
		}
	})
}
