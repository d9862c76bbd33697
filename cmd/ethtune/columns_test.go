package main

import (
	"strings"
	"testing"

	"github.com/ethtune/ethtune/tune/knob"
)

func TestColumnsStandUnderEachOther(t *testing.T) {
	var b strings.Builder
	rows := [][]string{{"tso", "eth0", "on", "on|off", ""}, {"µ", "-", "4096 131072 16777216", "", ""}, {"gro", "eth0", "off", "", "kept"}}
	if err := writeColumns(&b, rows); err != nil {
		t.Fatal(err)
	}
	const want = "" +
		"tso  eth0  on                    on|off\n" +
		"µ    -     4096 131072 16777216\n" +
		"gro  eth0  off                           kept\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestRestoreRows(t *testing.T) {
	gro := knob.Setting{Knob: "feature.rx-gro", Value: "on"}
	for _, c := range []struct {
		name string
		r    knob.Result
		dry  bool
		want string
	}{
		{"back", knob.Result{Setting: gro, Dev: "eth0", From: "off", Got: "on", Outcome: knob.Applied}, false,
			"gro eth0 off -> on, put back"},
		{"to be put back", knob.Result{Setting: gro, Dev: "eth0", From: "off", Got: "off", Outcome: knob.Unchanged}, true,
			"gro eth0 off -> on, would be put back"},
		{"another's, in a dry run", knob.Result{Setting: gro, Dev: "eth0", From: "off", Got: "off", Outcome: knob.Refused, Reason: "changed"}, true,
			"gro eth0 off -> off, NOT BACK: changed"},
		{"left", knob.Result{Setting: gro, Dev: "eth0", From: "off", Got: "off", Outcome: knob.Unchanged, Reason: "pid 7 has it"}, true,
			"gro eth0 off -> off, left: pid 7 has it"},
		{"of no interface", knob.Result{Setting: knob.Setting{Knob: "sysctl.net.ipv4.tcp_sack", Value: "1"}, From: "0", Got: "1", Outcome: knob.Applied}, false,
			"sack - 0 -> 1, put back"},
	} {
		r := restoreRow(c.r, c.dry)
		if got := strings.Join(r[:3], " ") + ", " + r[3]; got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
